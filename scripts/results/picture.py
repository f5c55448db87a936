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


def point(row):
    """Times less than dense float32, loss, deviation, label; none if it diverged."""
    loss = statistics.fmean(row.losses())
    sent = row.mean("mean_bytes_per_step")
    if not math.isfinite(loss) or sent <= 0:
        return None
    return row.mean("dense_bytes_per_step") / sent, loss, row.deviation(), row.method.label


def draw_panel(axes, workload, rows):
    """The band is what the seeds of the first row span; what is far above the best is left out."""
    points = [p for p in map(point, rows) if p]
    span = rows[0].losses()
    best = min(loss for _, loss, _, _ in points)
    farthest = best + 8 * max(max(span) - min(span), 0.02 * best)
    shown = [p for p in points if p[1] < farthest]
    axes.axhspan(min(span), max(span), color="#dce9f7", zorder=0.5, linewidth=0)
    for less, loss, deviation, label in shown:
        axes.errorbar(less, loss, deviation, fmt="o", color="#1f4e8c", markersize=4, linewidth=1)
        axes.annotate(label.replace("_", " "), (less, loss), xytext=(6, 5), textcoords="offset points", fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(0.7, 12000)
    axes.margins(y=0.1)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(workload.title)
    axes.set_xlabel("times less than dense float32, sent in the whole run")
    axes.set_ylabel("held-out loss, nats")


def draw(file, panels):
    """panels: (workload, rows)."""
    draw_panels(file, panels, PANEL_HEIGHT, draw_panel)
