# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Held-out loss over the compression of the whole run, one panel per workload."""
import math
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from drawing import draw_panels  # noqa: E402

PANEL_HEIGHT = 400
# Approximate sizes in points: of a panel's axes, and of a label's line and letter.
AXES_WIDTH, AXES_HEIGHT, LINE, LETTER = 620, 250, 11, 5


def point(row):
    """(factor by which it sends less than dense float32, loss, deviation, label); None if it diverged."""
    loss = statistics.fmean(row.losses())
    sent = row.mean("mean_bytes_per_step")
    if not math.isfinite(loss) or sent <= 0:
        return None
    return row.mean("dense_bytes_per_step") / sent, loss, row.deviation(), row.method.label


def lines_up(axes, points):
    """Lines by which each label is above its point (negative: below), so that labels do not overlap."""
    transform = axes.transData + axes.transAxes.inverted()
    placed = {}
    for less, loss, _, label in sorted(points, key=lambda one: one[1]):
        x, y = transform.transform((less, loss))
        left, middle = x * AXES_WIDTH, y * AXES_HEIGHT
        right = left + LETTER * len(label)
        others = [of for begin, end, of in placed.values() if begin < right and left < end]
        free = [k for k in sorted(range(-12, 13), key=lambda k: (abs(k), -k))
                if all(abs(middle + k * LINE - of) >= LINE for of in others)]
        placed[label] = left, right, middle + (free or [0])[0] * LINE
        yield label, (free or [0])[0]


def draw_panel(axes, workload, rows):
    """Draws a panel. The band is the range of the first row's seeds; points far above the best are left out."""
    points = [p for p in map(point, rows) if p]
    span = rows[0].losses()
    best = min(loss for _, loss, _, _ in points)
    farthest = best + 8 * max(max(span) - min(span), 0.02 * best)
    shown = [p for p in points if p[1] < farthest]
    axes.axhspan(min(span), max(span), color="#dce9f7", zorder=0.5, linewidth=0)
    for less, loss, deviation, label in shown:
        axes.errorbar(less, loss, deviation, fmt="o", color="#1f4e8c", markersize=4, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(0.7, 12000)
    axes.margins(y=0.1)
    up = dict(lines_up(axes, shown))
    for less, loss, _, label in shown:
        line = {"arrowstyle": "-", "color": "#888888", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3, "relpos": (0, 0.5)}
        axes.annotate(label.replace("_", " "), (less, loss), xytext=(8, 5 + LINE * up[label]),
                      textcoords="offset points", fontsize=9, arrowprops=line if up[label] else None)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(workload.title)
    axes.set_xlabel("times less than dense float32, sent in the whole run")
    axes.set_ylabel("held-out loss, nats")


def draw(file, panels):
    """Draws the picture. panels: (workload, rows)."""
    draw_panels(file, panels, PANEL_HEIGHT, draw_panel)
