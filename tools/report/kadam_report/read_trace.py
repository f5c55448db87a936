# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads trace.json: the activities of the first ranks in the steps that are shown."""
from dataclasses import dataclass, field

from kadam_report.run import Refusal
from kadam_report.spans import joined
from kadam_report.step_window import choose_step_window
from kadam_report.trace_events import ACTIVITIES, MESSAGES, events_of


@dataclass
class RankTimeline:
    """Spans of a rank, by activity."""

    clock_error: float = 0.0
    spans: dict = field(default_factory=lambda: {name: [] for name in ACTIVITIES})


@dataclass
class StepTimeline:
    """The shown steps of rank 0, with the activities of the first ranks. Times are seconds since the begin of the first
    step, by the clock of rank 0."""

    first_end: float
    end: float
    steps: int
    ranks: list


def timeline_of(text):
    events = events_of(text)
    window = choose_step_window(events)
    zero, end = window.begin, window.end - window.begin
    ranks = [RankTimeline() for _ in range(1 + max(event.rank for event in events))]
    for rank, activity, first, last in events:
        if activity == "clock error":
            ranks[rank].clock_error = first
        elif activity != "step" and max(0.0, first - zero) < min(end, last - zero):
            ranks[rank].spans[activity].append((max(0.0, first - zero), min(end, last - zero)))
    for rank in ranks:
        for exchange, message in MESSAGES.items():  # of an exchange without an end only messages are known
            rank.spans[exchange] += rank.spans[message]
        for name in set(ACTIVITIES) - set(MESSAGES.values()):
            rank.spans[name] = joined(rank.spans[name])
    return StepTimeline(window.first_end - zero, end, window.steps, ranks)


def read_trace(run):
    """Reads trace.json, if there is one, into run.timeline; adds a remark if it cannot be used."""
    file = run.folder / "trace.json"
    if not file.exists():
        return
    try:
        run.timeline = timeline_of(file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        run.remarks.append("trace.json is not shown: it cannot be read.")
    except Refusal as reason:
        run.remarks.append(f"trace.json is not shown: {reason}.")
