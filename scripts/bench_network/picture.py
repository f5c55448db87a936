# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Step time over the rate of the network, one panel per workload, drawn by gnuplot."""
import shutil
import subprocess

from studies import NO_EXCHANGE, bits_per_second
from tables import in_order

PANEL_HEIGHT = 460
NOT_SHAPED = 1e10  # where it stands on the axis
# PyTorch in grey, dense in black, compressed in colours.
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#ff7f0e")


def place(rate):
    return min(bits_per_second(rate), NOT_SHAPED)


def style(label, number, dense):
    if label.startswith("PyTorch"):
        return 'lc rgb "#999999" dt 2'
    if label in dense:
        return 'lc rgb "#000000"'
    return f'lc rgb "{COLOURS[number % len(COLOURS)]}"'


def curves(by_rate, methods):
    """Label: points (bits per second, seconds), sorted; of those measured with an exchange."""
    points = {}
    for rate, records in by_rate.items():
        for label, record in records.items():
            if "step_seconds" in record and record.get("exchange") != "none":
                points.setdefault(label, []).append((place(rate), record["step_seconds"]))
    return {label: sorted(points[label]) for label in in_order(points, methods)}


def panel(number, workload, by_rate, methods):
    data, plots = "", []
    dense = {method.label for method in methods if method.dense}
    for k, (label, points) in enumerate(curves(by_rate, methods).items()):
        name = f"$d{number}_{k}"
        data += f"{name} << EOD\n" + "\n".join(f"{x:g} {y:.6g}" for x, y in points) + "\nEOD\n"
        plots.append(f'{name} using 1:2 with linespoints pt {4 + k % 10} ps 0.6 lw 1.3 {style(label, k, dense)} '
                     f'title "{label.replace("_", " ")}"')
    alone = [records[NO_EXCHANGE]["step_seconds"] for records in by_rate.values()
             if "step_seconds" in records.get(NO_EXCHANGE, {})]
    if alone:
        plots.append(f'{min(alone):.6g} with lines dt 3 lc rgb "#bbbbbb" title "{NO_EXCHANGE}"')
    return f'{data}set title "{workload.title}" font ",13"\nplot ' + ", \\\n     ".join(plots) + "\n"


def draw(file, panels, methods):
    """panels: (workload, {rate: {label: record}}); methods: all that there are. Nothing without gnuplot, or without a step that was measured."""
    panels = [(workload, by_rate) for workload, by_rate in panels if curves(by_rate, methods)]
    if shutil.which("gnuplot") is None or not panels:
        return
    rates = sorted({rate for _, by_rate in panels for rate in by_rate}, key=place)
    tics = ", ".join(f'"{"not shaped" if rate == "none" else rate}" {place(rate):g}' for rate in rates)
    script = f"""set terminal svg size 900,{PANEL_HEIGHT * len(panels)} font "Helvetica,11" background "#ffffff"
set output "{file}"
set multiplot layout {len(panels)},1
set logscale xy
set xtics ({tics})
set xrange [{place(rates[0]) / 1.5:g}:{place(rates[-1]) * 1.5:g}]
set format y "%g"
set grid xtics ytics lc rgb "#e6e6e6"
set border 3 lc rgb "#888888"
set tics nomirror
set key outside right top font ",9"
set xlabel "rate of each host's link"
set ylabel "seconds per step"
"""
    script += "".join(panel(k, *one, methods) for k, one in enumerate(panels)) + "unset multiplot\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
