# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Step time over the rate of the network, one panel per workload; loss over time at one rate."""
import pathlib
import sys

from studies import NO_EXCHANGE, bits_per_second, delay_of, title_of
from tables import in_order

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from drawing import draw_panels  # noqa: E402

PANEL_HEIGHT = 460
COURSE_HEIGHT = 380
NEAR = 1.1  # ratio of times whose labels would overlap
NOT_SHAPED = 1e10  # place of the unshaped network on the axis
# PyTorch in grey, dense in black, compressed in colours.
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf", "#ff7f0e")
MARKERS = "osv^D<>pXP"


def place(rate):
    return min(bits_per_second(rate), NOT_SHAPED)


def style(label, number, dense):
    if label.startswith("PyTorch"):
        return {"color": "#999999", "dashes": (6, 3)}
    return {"color": "#000000" if label in dense else COLOURS[number % len(COLOURS)]}


def curves(by_rate, methods):
    """{label: sorted points (bits per second, seconds)} of records with an exchange."""
    points = {}
    for rate, records in by_rate.items():
        for label, record in records.items():
            if "step_seconds" in record and record.get("exchange") != "none":
                points.setdefault(label, []).append((place(rate), record["step_seconds"]))
    return {label: sorted(points[label]) for label in in_order(points, methods)}


def draw_panel(axes, workload, by_rate, methods, rates):
    dense = {method.label for method in methods if method.dense}
    for number, (label, points) in enumerate(curves(by_rate, methods).items()):
        axes.plot(*zip(*points), label=label.replace("_", " "), marker=MARKERS[number % len(MARKERS)], markersize=4,
                  linewidth=1.3, **style(label, number, dense))
    alone = [records[NO_EXCHANGE]["step_seconds"] for records in by_rate.values()
             if "step_seconds" in records.get(NO_EXCHANGE, {})]
    if alone:
        axes.axhline(min(alone), dashes=(2, 3), color="#bbbbbb", linewidth=1.3, label=NO_EXCHANGE)
    axes.set(xscale="log", yscale="log", xlabel="rate of each host's link", ylabel="seconds per step")
    axes.set_xlim(place(rates[0]) / 1.5, place(rates[-1]) * 1.5)
    axes.set_xticks([place(rate) for rate in rates], ["not shaped" if rate == "none" else rate for rate in rates])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_title(workload.title)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)


def draw_course_panel(axes, workload, rate, loss, courses):
    colours, placed = iter(COLOURS), []
    for label, points in courses.items():
        # PyTorch's curve often lies behind the same curve of Kadam: it is broad, and its time stands below.
        is_peer = label.startswith("PyTorch")
        colour = "#999999" if is_peer else "#000000" if label.startswith("adam") else next(colours)
        dashes = {"dashes": (6, 3)} if label == "adam" else {}
        axes.plot(*zip(*points), label=label.replace("_", " "), color=colour, linewidth=5 if is_peer else 1.6,
                  zorder=1.5 if is_peer else 2, **dashes)
        reached = next((point for point in points if point[1] <= loss), None)
        if reached:
            axes.plot(*reached, "o", color=colour, markersize=5)
            below = is_peer or any(1 / NEAR < reached[0] / other < NEAR for other in placed)
            placed.append(reached[0])
            axes.annotate(f"{reached[0]:.0f} s", reached, xytext=(-5, -15) if below else (5, 5),
                          ha="right" if below else "left", textcoords="offset points", color=colour)
    axes.axhline(loss, dashes=(2, 3), color="#bbbbbb", linewidth=1.3)
    axes.set(xscale="log", xlabel="seconds", ylabel="loss of training, nats")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(f"{workload.title}: {title_of(rate)}")
    axes.legend(loc="upper right", fontsize=9)


def draw_over_time(file, workload, rate, loss, courses):
    """Draws loss over time. courses: {label: points}; does nothing without any."""
    draw_panels(file, [(workload, rate, loss, courses)] if courses else [], COURSE_HEIGHT, draw_course_panel)


def draw(file, panels, methods):
    """Draws step time over the rate of links without a delay; does nothing if no step was measured on one. panels:
    (workload, {rate: {label: record}}). methods: all."""
    panels = [(workload, {rate: records for rate, records in by_rate.items() if not delay_of(rate)})
              for workload, by_rate in panels]
    panels = [(workload, by_rate) for workload, by_rate in panels if curves(by_rate, methods)]
    rates = sorted({rate for _, by_rate in panels for rate in by_rate}, key=place)
    draw_panels(file, [(*panel, methods, rates) for panel in panels], PANEL_HEIGHT, draw_panel)
