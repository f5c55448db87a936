# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures by Matplotlib: one style for all of Kadam, and the same bytes from the same numbers."""
import io
import logging
import re
import warnings

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # messages about fonts and caches
warnings.filterwarnings("ignore", module="matplotlib")  # letters that its font lacks: a browser has them

import matplotlib  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.path import Path  # noqa: E402
from matplotlib.patches import PathPatch  # noqa: E402

LETTERS = 16
GREY = "#555555"
STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "kadam",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": LETTERS,
    "text.parse_math": False,
    "text.color": "#1a1a1a",
    "lines.linewidth": 2,
    "lines.scale_dashes": False,
    "lines.solid_capstyle": "butt",
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": "#1a1a1a",
    "axes.linewidth": 1,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "large",
    "grid.color": "#dddddd",
    "grid.linewidth": 1,
    "legend.frameon": False,
    "path.simplify_threshold": 0.1,
    "xtick.color": GREY,
    "xtick.labelcolor": "#1a1a1a",
    "xtick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.color": GREY,
    "ytick.labelcolor": "#1a1a1a",
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
}
matplotlib.rcdefaults()  # whatever the user's own style is
matplotlib.rcParams.update(STYLE)


def canvas(width, height, letters=LETTERS):
    """An empty picture of this size in units."""
    matplotlib.rcParams["font.size"] = letters
    return Figure(figsize=(width / 72, height / 72), dpi=72)


def write(figure, file):
    """Writes a figure as .svg, or as .png of twice the size."""
    file = str(file)
    metadata = {"Date": None, "Creator": None} if file.endswith(".svg") else {"Software": None}
    figure.savefig(file, dpi=72 if file.endswith(".svg") else 144, metadata=metadata)


def inside_of(figure):
    """The contents of a figure's SVG element, for a page with several. Ids, which would not be unique, are removed with
    the clip paths that they name: nothing is drawn outside of the axes."""
    file = io.StringIO()
    figure.patch.set_visible(False)
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>|<defs>.*?</defs>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' clip-path="[^"]*"| id="[^"]*"| transform="rotate\(-0 [^"]*"|<g/>', "", svg)
    return re.sub(r"\s*\n\s*", "\n", svg[svg.index("<g>") : svg.rindex("</svg>")])


def set_axis(axes, name, axis):
    """Sets range and ticks of the axis name, "x" or "y", from an Axis."""
    if axis.logarithmic:
        axes.set(**{f"{name}scale": "log"})
    axes.set(**{f"{name}lim": (axis.least, axis.most)})
    own = getattr(axes, f"{name}axis")
    own.set_ticks([place for place, _ in axis.ticks], [text for _, text in axis.ticks])
    own.set_minor_locator(matplotlib.ticker.NullLocator())


class PlainNumbers(matplotlib.ticker.LogFormatter):
    """Writes 0.2 where Matplotlib writes a power of ten, at the same ticks."""

    def __call__(self, x, pos=None):
        return f"{x:g}" if super().__call__(x, pos) else ""


def write_plainly(axis):
    """Writes the numbers of a logarithmic axis without powers, and those between powers of ten if it is short."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(PlainNumbers(labelOnlyBase=False, minor_thresholds=(2, 0.5)))


def add_boxes(axes, spans, y, half, colour):
    """Adds boxes of one colour, from y - half to y + half, one for each span."""
    if not spans:
        return
    corners = [((left, y - half), (left, y + half), (right, y + half), (right, y - half), (left, y - half))
               for left, right in spans]
    path = Path([corner for box in corners for corner in box],
                [Path.MOVETO, *3 * [Path.LINETO], Path.CLOSEPOLY] * len(corners))
    axes.add_patch(PathPatch(path, facecolor=colour, linewidth=0))


def row_axes(figure, frame, height, low, high, axis, title):
    """Axes for rows of boxes, with a scale below and no other lines. frame: left and width as fractions, foot in
    units."""
    left, width, foot = frame
    axes = figure.add_axes([left, foot / height, width, 1 - foot / height])
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    set_axis(axes, "x", axis)
    axes.set_ylim(low, high)
    axes.set_yticks([])
    axes.set_xlabel(title)
    return axes
