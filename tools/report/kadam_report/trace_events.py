# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Events of a Chrome trace, as far as they are shown: what the first two ranks did, and when."""
import json
import re
from typing import NamedTuple

from kadam_report.run import Refusal, member

MOST_RANKS = 2
STEP = "kadam-train::step"
ARRIVES = "receive"
NETWORK, BACKGROUND = 2, 3  # threads of a trace
# What a rank does: parts of a step; and exchanges, with the messages that have arrived since the one before.
REGIONS = {"kadam-train::gradient": "compute", "kadam::check": "wait", "kadam::encode": "encode",
           "kadam::exchange": "exposed exchange", "kadam::decode": "decode"}
EXCHANGES = {NETWORK: "network", BACKGROUND: "background"}
MESSAGES = {"network": "network message", "background": "background message"}
ACTIVITIES = (*REGIONS.values(), *MESSAGES, *MESSAGES.values())


class Event(NamedTuple):
    """Seconds from when to when; of "clock error" by how many the rank's times may be wrong."""

    rank: int
    activity: str  # of ACTIVITIES, "step" or "clock error"
    begin: float
    end: float


def number_in(found, name, least=-1e15, most=1e15):
    """None for what is no number between these."""
    value = found.get(name)
    return value if type(value) in (int, float) and least <= value <= most else None


def activity_of(found):
    """None for what is not shown."""
    exchange, name = EXCHANGES.get(number_in(found, "tid")), member(found, "name", str)
    if exchange:
        return MESSAGES[exchange] if name == ARRIVES else exchange
    return "step" if name == STEP else REGIONS.get(name)


def event_of(found):
    """For an object of JSON: an Event, None for another event, itself for what is no event. A trace is large: nothing
    else of it is kept."""
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
    """Refuses what is no JSON object with a list traceEvents."""
    try:
        whole = json.loads(text, object_hook=event_of)
    except json.JSONDecodeError as error:
        raise Refusal(f"it is no whole JSON, from character {error.pos} on") from error
    except (ValueError, RecursionError) as error:
        raise Refusal("it is no whole JSON that can be read") from error
    events = whole.get("traceEvents") if isinstance(whole, dict) else None
    if not isinstance(events, list):
        raise Refusal("it has no list traceEvents")
    return [event for event in events if isinstance(event, Event)]
