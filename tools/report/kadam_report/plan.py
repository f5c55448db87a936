# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The picture of kadam-plan: step time over ranks, and over the rate of the links."""
from kadam_report import drawing
from kadam_report.palette import COLOURS
from kadam_report.run import Refusal, parsed
from kadam_report.record import text_of

WIDTH, HEIGHT = 1250, 440
FRAMES = ((0.27, 0.15, 0.34, 0.8), (0.69, 0.15, 0.29, 0.8))
DENSE_COLOURS = ("#999999", "#000000", "#cccccc")  # greys, so that one sees at a glance what has to be beaten


def colours_of(curves):
    """Colours of the curves, as in the report: by the place among the dense ones, or among the others."""
    seen = {True: 0, False: 0}
    for curve in curves:
        colours = DENSE_COLOURS if curve["dense"] else COLOURS
        yield colours[seen[curve["dense"]] % len(colours)]
        seen[curve["dense"]] += 1


def draw_panel(axes, panel):
    for curve, colour in zip(panel["curves"], colours_of(panel["curves"])):
        axes.plot(panel["x"], curve["seconds"], color=colour, label=curve["name"])
    axes.set_xscale("log", base=panel["base"])
    axes.set_yscale("log")
    drawing.write_plainly(axes.xaxis)
    drawing.write_plainly(axes.yaxis)
    axes.set_xlabel(panel["title"])
    axes.margins(x=0)


def draw_plan(file, out):
    """Draws the picture from the file of curves that kadam-plan --plot writes beside it."""
    plan = parsed(text_of(file))
    try:
        figure = drawing.canvas(WIDTH, HEIGHT, letters=12)
        for frame, panel in zip(FRAMES, plan["panels"]):
            draw_panel(figure.add_axes(frame), panel)
    except (KeyError, TypeError, ValueError) as error:
        raise Refusal(f"{file}: expected the curves that kadam-plan --plot has written") from error
    figure.axes[0].set_ylabel("seconds per step")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="center left", bbox_to_anchor=(0, 0.5), fontsize=10)
    try:
        drawing.write(figure, out)
    except OSError as error:
        raise Refusal(f"{out}: cannot be written") from error
