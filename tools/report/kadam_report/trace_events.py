# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The events of a Chrome trace that are shown: activities of the first two ranks."""
import json
import re
from typing import NamedTuple

from kadam_report.run import Refusal, member

MOST_RANKS = 2
STEP = "kadam-train::step"
ARRIVES = "receive"
NETWORK, BACKGROUND = 2, 3  # threads of a trace
# Activities of a rank: parts of a step, and exchanges with the messages that arrive in them.
REGIONS = {"kadam-train::gradient": "compute", "kadam::check": "wait", "kadam::encode": "encode",
           "kadam::exchange": "exposed exchange", "kadam::decode": "decode"}
EXCHANGES = {NETWORK: "network", BACKGROUND: "background"}
MESSAGES = {"network": "network message", "background": "background message"}
ACTIVITIES = (*REGIONS.values(), *MESSAGES, *MESSAGES.values())


class Event(NamedTuple):
    """An activity from `begin` to `end`, in seconds. In a "clock error" `begin` is the error of the rank's times."""

    rank: int
    activity: str  # one of ACTIVITIES, "step" or "clock error"
    begin: float
    end: float


def number_in(found, name, least=-1e15, most=1e15):
    """A member that is a number in [least, most], else None."""
    value = found.get(name)
    return value if type(value) in (int, float) and least <= value <= most else None


def activity_of(found):
    """The activity of an object of the trace; None if it is not shown."""
    exchange, name = EXCHANGES.get(number_in(found, "tid")), member(found, "name", str)
    if exchange:
        return MESSAGES[exchange] if name == ARRIVES else exchange
    return "step" if name == STEP else REGIONS.get(name)


def event_of(found):
    """Turns a JSON object into an Event, or into None if this event is not shown; returns an object that is not an
    event. So of a large trace only shown events are kept."""
    if "ph" not in found:
        return found
    rank, begin, length = number_in(found, "pid", 0), number_in(found, "ts"), number_in(found, "dur", 0)
    if rank is None or rank >= MOST_RANKS:
        return None
    label = re.match(r"clock \+- (\d{1,15}) us", member(member(found, "args", dict), "labels", str))
    if label:
        return Event(int(rank), "clock error", 1e-6 * int(label[1]), 0.0)
    activity = activity_of(found)
    if found["ph"] != "X" or activity is None or begin is None or length is None:
        return None
    return Event(int(rank), activity, 1e-6 * begin, 1e-6 * (begin + length))


def events_of(text):
    """The shown events of a trace. Refuses a text that is not a JSON object with a list traceEvents."""
    try:
        whole = json.loads(text, object_hook=event_of)
    except json.JSONDecodeError as error:
        raise Refusal(f"it is not valid JSON, from character {error.pos} on") from error
    except (ValueError, RecursionError) as error:
        raise Refusal("it is not valid JSON that can be read") from error
    events = whole.get("traceEvents") if isinstance(whole, dict) else None
    if not isinstance(events, list):
        raise Refusal("it has no list traceEvents")
    return [event for event in events if isinstance(event, Event)]
