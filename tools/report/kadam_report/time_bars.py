# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a step goes: a bar per run."""
from kadam_report import drawing
from kadam_report.axis import linear_axis
from kadam_report.figure import WIDTH, Figure, Key, Table
from kadam_report.palette import STEP_PARTS
from kadam_report.texts import plain

PITCH = 62  # from bar to bar, its name above it
HALF = 0.22  # of a bar
FOOT = 56
LEFT, PART = 0.02, 0.94  # of the picture
LETTER = 9.5
MOST_LETTERS = 34
CAPTION = ("Rank 0, mean over the steps of the last phase (after a warm-up). Compute: data, forward and backward pass, "
           "and messages sent meanwhile. Wait: the agreement on the gradient, where fast ranks wait for slow ones. "
           "Exposed exchange: messages that the step waits for. Decode: with reduction and update. Rest: parts that "
           "are not timed separately.")


def late_means(lines):
    """{name: mean over the last tenth of the lines}."""
    values = {}
    for line in lines[-max(1, len(lines) // 10) :]:
        for name, value in line.numbers.items():
            values.setdefault(name, []).append(value)
    return {name: sum(some) / len(some) for name, some in values.items()}


def parts_of(run):
    """{part: seconds} of a step, from the result of a finished run, else from the last tenth of its lines. None without
    such figures. In runs of an earlier Kadam the wait is part of the exchange."""
    numbers = run.result or late_means(run.training)
    seconds = {name.removesuffix("_seconds"): value for name, value in numbers.items()}
    if "compute" not in seconds or "exchange" not in seconds:
        return None
    seconds["exposed exchange"] = max(0.0, seconds["exchange"] - seconds.get("wait", 0.0))
    return {part: seconds.get(part, 0.0) for part in STEP_PARTS}


def unit_of(longest):
    return ("milliseconds", "ms", 1e-3) if longest < 1 else ("seconds", "s", 1)


def time_text(value):
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def shortened(text):
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "..."


def picture_of(bars, height):
    longest = max(sum(parts.values()) for _, parts in bars)
    name, symbol, size = unit_of(longest)
    axis = linear_axis(0, longest / size, plain).end_at(longest / size)
    figure = drawing.canvas(WIDTH, height)
    axes = drawing.row_axes(figure, (LEFT, PART, FOOT), height, 0.5 - len(bars), 0.72, axis, f"{name} per step")
    per_unit = PART * WIDTH / axis.most
    for row, (run, parts) in enumerate(bars):
        total = time_text(sum(parts.values()) / size)
        axes.text(0, 0.42 - row, f"{shortened(run.label)}: {total} {symbol}", va="center")
        begin = 0.0
        for part, seconds in parts.items():
            end, text = begin + seconds / size, time_text(seconds / size)
            if end > begin:
                drawing.add_boxes(axes, [(begin, end)], -row, HALF, STEP_PARTS[part])
            if (end - begin) * per_unit > LETTER * len(text) + 4:
                axes.text((begin + end) / 2, -row, text, ha="center", va="center")
            begin = end
    return drawing.inside_of(figure)


def table_of(bars):
    name, _, size = unit_of(max(sum(parts.values()) for _, parts in bars))
    table = Table(f"Time of a step, {name}", ["optimizer", *STEP_PARTS, "all"])
    for run, parts in bars:
        table.rows.append([run.label, *(time_text(value / size) for value in (*parts.values(), sum(parts.values())))])
    return table


def time_bars_of(runs):
    """The figure of the time of a step; None if no run has its numbers."""
    bars = [(run, parts) for run, parts in ((run, parts_of(run)) for run in runs) if parts and sum(parts.values()) > 0]
    if not bars:
        return None
    unknowing = [run.label for run, _ in bars if "wait_seconds" not in (run.result or late_means(run.training))]
    caption = CAPTION
    if unknowing:
        caption += f" For {', '.join(unknowing)}, the wait is part of the exchange, and the rest is not known."
    height = PITCH * len(bars) + 70
    return Figure("time", "Where the time of a step goes",
                  f"A bar per run, {len(bars)} in all; the table below has its parts.", caption,
                  [Key(part, colour, is_area=True) for part, colour in STEP_PARTS.items()], table_of(bars),
                  picture_of(bars, height), height)
