# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures with a curve for each run."""
import math
from dataclasses import dataclass

from kadam_report import drawing, texts
from kadam_report.axis import fitting_axis, linear_axis, logarithmic_axis
from kadam_report.curve import has_points, points_to_join, thinned, value_at, with_dots
from kadam_report.figure import WIDTH, Figure, Key, Table
from kadam_report.palette import LEVEL

COLUMNS = 5  # of the table
FRAME = (0.175, 0.17, 0.79, 0.795)


@dataclass
class Kind:
    """A kind of figure: the field of each run to draw, and its x axis. levels: horizontal lines, (value, text)."""

    name: str
    title: str
    caption: str
    field: str
    over: str = "step"  # "step", or a field
    text: object = texts.plain  # turns y into text
    logarithmic: bool = False  # False: only where it helps
    lines: str = "training"
    levels: tuple = ()


def curve_of(run, kind):
    curve = []
    for line in getattr(run, kind.lines):
        x = float(line.step) if kind.over == "step" else line.numbers.get(kind.over)
        y = line.numbers.get(kind.field, math.nan)
        if x is not None:
            curve.append((x, y if y > 0 or not kind.logarithmic else math.nan))
    return curve


def unit_of(kind, last):
    """(unit, its size) of the x axis: steps, or seconds, minutes or hours up to `last` seconds."""
    if kind.over == "step":
        return "step", 1
    if last > 3 * 3600:
        return "hours", 3600
    return ("minutes", 60) if last > 300 else ("seconds", 1)


def table_of(kind, curves, last):
    """A table of the curves' values at some places."""
    unit, size = unit_of(kind, last)
    places = [last * k / COLUMNS for k in range(1, COLUMNS + 1)]
    if kind.over == "step":
        places = list(map(math.floor, places))
        header = [f"step {texts.steps(place)}" for place in places]
    else:
        header = [f"{place / size:.3g} {unit}" for place in places]
    table = Table(kind.title, ["optimizer", *header])
    for style, curve in curves:
        values = [value_at(curve, place) for place in places]
        table.rows.append([style.text, *(kind.text(value) if math.isfinite(value) else texts.NONE for value in values)])
    return table


def picture_of(kind, curves, last):
    unit, size = unit_of(kind, last)
    values = [y for _, curve in curves for _, y in curve if math.isfinite(y)] + [value for value, _ in kind.levels]
    x_axis = linear_axis(0, last / size, texts.steps if kind.over == "step" else texts.plain).end_at(last / size)
    y_axis = (logarithmic_axis if kind.logarithmic else fitting_axis)(min(values), max(values), kind.text)
    figure = drawing.canvas(WIDTH, Figure.height)
    axes = figure.add_axes(FRAME)
    drawing.set_axis(axes, "x", x_axis)
    drawing.set_axis(axes, "y", y_axis)
    axes.set_xlabel(unit)
    for value, _ in kind.levels:
        axes.plot([x_axis.least, x_axis.most], [value, value], color=LEVEL, dashes=(2, 4))
    for style, curve in curves:
        points = with_dots([(x / size, y) for x, y in curve], 0.004 * x_axis.most)
        axes.plot(*zip(*points), color=style.colour, **({"dashes": style.dashes} if style.dashes else {}))
    return drawing.inside_of(figure)


def figure_of(kind, runs, styles):
    """The figure of a kind; None if no run has its numbers."""
    all_curves = [(style, curve_of(run, kind)) for run, style in zip(runs, styles)]
    curves = [(style, curve) for style, curve in all_curves if has_points(curve)]
    if not curves:
        return None
    last = max(x for _, curve in curves for x, _ in curve)
    table = table_of(kind, curves, last)
    group = max(points_to_join(curve) for _, curve in curves)
    caption = kind.caption + (f" Each point is the mean of {group} logged lines." if group > 1 else "")
    curves = [(style, thinned(curve, group)) for style, curve in curves]
    legend = [Key(text, LEVEL, (2, 4)) for _, text in kind.levels] + [style for style, _ in curves]
    description = f"Curves of {texts.plural(len(curves), 'run')}; the table below has their values."
    return Figure(kind.name, kind.title, description, caption, legend, table, picture_of(kind, curves, last))
