# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of the steps of a trace that are shown."""
from typing import NamedTuple

from kadam_report.run import Refusal
from kadam_report.spans import common_length, joined
from kadam_report.trace_events import MESSAGES

MOST_TRIED = 64
LONGEST_PAUSE = 0.1  # between two steps, as a fraction of the time of both
SHORTEST = 1e-6


class StepWindow(NamedTuple):
    """A step of rank 0, or two in a row; times in seconds of the file."""

    begin: float
    first_end: float
    end: float
    steps: int


def window_at(steps, last):
    """The window that ends with step `last`: two steps if the pause between them is short, else this one alone."""
    begin, end = steps[last]
    if last > 0:
        before, before_end = steps[last - 1]
        if begin - before_end <= LONGEST_PAUSE * (end - before):
            return StepWindow(before, before_end, end, 2)
    return StepWindow(begin, end, end, 1)


def choose_step_window(events):
    """Chooses among the last 64 steps: the last window with most kinds of exchanges, where a kind counts if the window
    has at least half of the longest time of it. Two steps in a row go before one alone."""
    own = [event for event in events if event.rank == 0]
    steps = sorted((event.begin, event.end) for event in own if event.activity == "step")
    if not steps:
        raise Refusal("it has no step of rank 0")
    exchanges = [joined([(event.begin, event.end) for event in own if event.activity in both])
                 for both in MESSAGES.items()]
    windows = [window_at(steps, last) for last in range(len(steps))][-MOST_TRIED:][::-1]
    seconds = [[common_length(kind, [(window.begin, window.end)]) for kind in exchanges] for window in windows]
    most = [max(column) for column in zip(*seconds)]

    def worth(place):
        seen = [best > 0 and part >= 0.5 * best for part, best in zip(seconds[place], most)]
        return windows[place].steps + 2 * sum(seen)

    window = windows[max(range(len(windows)), key=worth)]  # the first of the best: the last in time
    if not window.end - window.begin >= SHORTEST:
        raise Refusal("its steps take no time")
    return window
