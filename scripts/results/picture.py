# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Held-out loss over compression, one panel per workload, drawn by gnuplot."""
import math
import shutil
import statistics
import subprocess

PANEL_HEIGHT = 400


def point(row):
    """Times less than dense float32 in the foreground, loss, deviation, label; none if it diverged."""
    loss = statistics.fmean(row.losses())
    sent = row.mean("bytes_per_step") - row.mean("background_bytes_per_step")
    if not math.isfinite(loss) or sent <= 0:
        return None
    return row.mean("dense_bytes_per_step") / sent, loss, row.deviation(), row.method.label


def panel(number, workload, rows):
    """Data and plot command; the band is what the seeds of the first row span."""
    points = [p for p in map(point, rows) if p]
    span = rows[0].losses()
    best = min(p[1] for p in points)
    shown = [p for p in points if p[1] < best + 8 * max(max(span) - min(span), 0.02 * best)]
    data = "\n".join(f'{x:.4g} {y:.5f} {e:.5f} "{label.replace("_", " ")}"' for x, y, e, label in shown)
    return f"""$points{number} << EOD
{data}
EOD
set title "{workload.title}" font ",13"
set object {number + 1} rect from graph 0, first {min(span)} to graph 1, first {max(span)} behind
set object {number + 1} fc rgb "#dce9f7" fillstyle solid noborder
plot $points{number} using 1:2:3 with yerrorbars pt 7 ps 0.7 lc rgb "#1f4e8c" notitle, \\
     $points{number} using 1:2:4 with labels left offset 0.7,0.5 font ",9" tc rgb "#333333" notitle
unset object {number + 1}
"""


def draw(file, panels):
    """panels: (workload, rows). Nothing without gnuplot."""
    if shutil.which("gnuplot") is None:
        return
    script = f"""set terminal svg size 900,{PANEL_HEIGHT * len(panels)} font "Helvetica,11" background "#ffffff"
set output "{file}"
set multiplot layout {len(panels)},1
set logscale x
set xrange [0.7:6000]
set offsets graph 0, 0, graph 0.1, graph 0.08
set grid xtics ytics lc rgb "#e6e6e6"
set border 3 lc rgb "#888888"
set tics nomirror
set xlabel "times less than dense float32, sent per step in the foreground after the warm-up"
set ylabel "held-out loss, nats"
"""
    script += "".join(panel(k, workload, rows) for k, (workload, rows) in enumerate(panels)) + "unset multiplot\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
