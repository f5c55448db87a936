# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Timelines of steps on the first ranks: a strip of rows per rank, one below the other."""
from kadam_report import drawing
from kadam_report.axis import linear_axis
from kadam_report.figure import WIDTH, Figure, Key, Table
from kadam_report.palette import EXCHANGE, IDLE, MESSAGE, STEP_PARTS
from kadam_report.trace_events import MESSAGES
from kadam_report.spans import common_length, joined, length_of
from kadam_report.texts import NONE, plain

# In units of the picture.
HEADING, ROW, GAP, FOOT = 24, 25, 10, 54
HALF, MESSAGE_HALF = 9, 5
LEFT, PART = 0.235, 0.733  # of the picture
SHORTEST = 3  # shortest message, in pixels, that gets a gap behind it
# Activities of each row; later ones are drawn in front.
ROWS = {"compute": ["compute"], "optimizer": ["wait", "exposed exchange", "encode", "decode"],
        "network": ["network", "network message"], "background": ["background", "background message"]}
IN_TABLE = ("compute", "wait", "encode", "exposed exchange", "decode", "network", "background")


def unit_of(timeline):
    """(unit, symbol, size): milliseconds, or seconds for 10 s and more."""
    return ("milliseconds", "ms", 1e-3) if timeline.end < 10 else ("seconds", "s", 1)


def rows_of(timeline):
    """The rows to draw: without the background if nothing is sent there, as with most optimizers."""
    has_background = any(rank.spans["background"] for rank in timeline.ranks)
    return {name: row for name, row in ROWS.items() if name != "background" or has_background}


def told_apart(messages, pixel):
    """Spans of messages with a gap of a pixel behind each long one; short neighbours are joined."""
    seen = []
    for begin, end in sorted(messages):
        if seen and begin <= seen[-1][1] + pixel and end - seen[-1][0] < SHORTEST * pixel:
            seen[-1] = (seen[-1][0], max(seen[-1][1], end))
        else:
            seen.append((begin, end))
    return [(begin, end - pixel if end - begin >= SHORTEST * pixel else end) for begin, end in seen]


def add_row(axes, rank, activities, y, timeline, size):
    pixel = timeline.end / (PART * WIDTH)
    drawing.add_boxes(axes, [(0, timeline.end / size)], y, HALF, IDLE)
    for activity in activities:
        spans, is_message = rank.spans[activity], activity in MESSAGES.values()
        # Boxes too close to be told apart are joined, so that a page stays small.
        spans = told_apart(spans, pixel) if is_message else joined(spans, 0.3 * pixel)
        boxes = [(begin / size, min(max(end, begin + pixel), timeline.end) / size) for begin, end in spans]
        colour = MESSAGE if is_message else STEP_PARTS.get(activity, EXCHANGE)
        drawing.add_boxes(axes, boxes, y, MESSAGE_HALF if is_message else HALF, colour)


def height_of(timeline):
    ranks = len(timeline.ranks)
    return FOOT + ranks * (HEADING + ROW * len(rows_of(timeline))) + GAP * ranks


def picture_of(timeline):
    name, _, size = unit_of(timeline)
    height = height_of(timeline)
    axis = linear_axis(0, timeline.end / size, plain).end_at(timeline.end / size)
    figure = drawing.canvas(WIDTH, height)
    axes = drawing.row_axes(figure, (LEFT, PART, FOOT), height, FOOT - height, 0, axis, name)
    y = 0
    for number, rank in enumerate(timeline.ranks):
        figure.text(0.005, 1 + (y - HEADING / 2) / height, f"rank {number}", va="center", weight="bold")
        y -= HEADING
        for row, activities in rows_of(timeline).items():
            figure.text(0.005, 1 + (y - ROW / 2) / height, row, va="center")
            add_row(axes, rank, activities, y - ROW / 2, timeline, size)
            y -= ROW
        y -= GAP
    if timeline.steps > 1:
        axes.axvline(timeline.first_end / size, color=drawing.GREY, linewidth=1)
    return drawing.inside_of(figure)


def table_of(timeline, title):
    """A row for each activity of a rank: its time, and how much of it the rank computed a gradient."""
    _, symbol, size = unit_of(timeline)
    table = Table(title, ["rank", symbol, "of the time", "while it computes"])
    for number, rank in enumerate(timeline.ranks):
        for activity in IN_TABLE:
            spans = rank.spans[activity]
            hidden = f"{common_length(spans, rank.spans['compute']) / size:.2f}" if activity != "compute" else NONE
            table.rows.append([f"{number}: {activity}", f"{length_of(spans) / size:.2f}",
                               f"{100 * length_of(spans) / timeline.end:.0f} %", hidden])
    return table


def caption_of(timeline):
    _, symbol, size = unit_of(timeline)
    caption = "Taken from the last steps in trace.json; times are by the clock of rank 0."
    if timeline.steps > 1:
        caption += " A line marks the end of the first step."
    caption += (" Compute: data, forward and backward pass. Optimizer: the parts of its step. Network, background: "
                "exchanges; each message that arrives is drawn from the arrival of the one before, so a busy wire is a "
                "row without gaps.")
    spans = timeline.ranks[0].spans
    for name, activity in (("exchange", "network"), ("background exchange", "background")):
        hidden = common_length(spans[activity], spans["compute"])
        if hidden > 0:
            caption += (f" Rank 0 computes during {hidden / size:.2f} of the {length_of(spans[activity]) / size:.2f} "
                        f"{symbol} of {name}.")
    if len(timeline.ranks) > 1:
        caption += f" The clock of rank 1 may be wrong by {timeline.ranks[1].clock_error / size:.2g} {symbol}."
    return caption


def figure_of(name, run, is_alone):
    timeline = run.timeline
    title = (("Two steps" if timeline.steps > 1 else "One step") + ("" if is_alone else f" of {run.label}") +
             f", seen from {'rank 0 and rank 1' if len(timeline.ranks) > 1 else 'rank 0'}")
    colours = STEP_PARTS | {"exchange": EXCHANGE, "message": MESSAGE}
    del colours["rest"]
    return Figure(name, title, "A strip per rank with rows for compute, optimizer, network and background; the table "
                  "below has their times.", caption_of(timeline),
                  [Key(part, colour, is_area=True) for part, colour in colours.items()], table_of(timeline, title),
                  picture_of(timeline), height_of(timeline))


def timeline_figures_of(runs):
    """One figure for each run with a timeline."""
    recorded = [run for run in runs if run.timeline]
    return [figure_of(f"timeline-{k + 1}", run, len(runs) == 1) for k, run in enumerate(recorded)]
