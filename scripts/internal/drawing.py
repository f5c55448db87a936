# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of scripts are drawn as those of kadam-report are: panels one below the other, in its style."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tools" / "report"))
try:
    from kadam_report import drawing
except ImportError:  # tables go without
    drawing = None

WIDTH, LETTERS = 900, 11


def draw_panels(file, panels, height, draw_panel):
    """Draws an SVG file by draw_panel(axes, *panel) for each panel; does nothing without Matplotlib or panels."""
    if drawing is None or not panels:
        return
    figure = drawing.canvas(WIDTH, height * len(panels), letters=LETTERS)
    for place, panel in enumerate(panels):
        draw_panel(figure.add_subplot(len(panels), 1, place + 1), *panel)
    figure.tight_layout()
    drawing.write(figure, file)
