# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loss over steps of a run in which ranks fail, beside runs that nobody disturbed: draw_deaths.py FOLDER ALGORITHM FILE.
The folder is what tests/train/deaths_test.py has kept."""
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from drawing import draw_panels  # noqa: E402

HEIGHT = 380
SEEDS = 3  # of runs that nobody disturbs, with the same number of ranks
WINDOW = 15  # steps: losses are those of single batches


def losses_in(run):
    """Steps, and the mean loss of the steps around each."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    points = [(line["step"], line["loss"]) for line in lines if "loss" in line]
    means = []
    for k, (step, _) in enumerate(points):
        near = points[max(0, k - WINDOW):k + WINDOW + 1]
        means.append((step, sum(loss for _, loss in near) / len(near)))
    return means


def changes_in(log):
    """[(number of ranks, step after which they go on, whether ranks have come)] of a log."""
    said = log.read_text(encoding="utf-8")
    found = re.findall(r"(\d+)( of \d+)? ranks go on after step (\d+)", said)
    return [(int(ranks), int(step), not lost) for ranks, lost, step in found]


def draw_panel(axes, folder, algorithm):
    for number, run in enumerate(sorted(folder.glob(f"{algorithm}-[0-9]-[0-9]"))[-SEEDS:]):
        label = f"nobody fails, {SEEDS} seeds" if number == 0 else None
        axes.plot(*zip(*losses_in(run)), color="#bbbbbb", linewidth=1.3, label=label)
    log = max(folder.glob(f"{algorithm}-disturbed-*.log"))
    axes.plot(*zip(*losses_in(log.with_suffix(""))), color="#1f77b4", linewidth=1.8, label="ranks are killed")
    for ranks, step, came in changes_in(log):
        color, height = ("#2ca02c", 0.82) if came else ("#d62728", 0.97)
        axes.axvline(step, dashes=(2, 3), color=color, linewidth=1.3)
        axes.annotate(f"{ranks} ranks go on\nafter step {step}", (step, height), xycoords=("data", "axes fraction"),
                      va="top", xytext=(5, 0), textcoords="offset points", color=color, fontsize=9)
    axes.set(xlabel="step", ylabel="loss of training, nats")
    axes.set_title(f"{algorithm}: ranks are killed, and the others go on from a snapshot")
    axes.legend(loc="lower left", fontsize=9)


if __name__ == "__main__":
    draw_panels(pathlib.Path(sys.argv[3]), [(pathlib.Path(sys.argv[1]), sys.argv[2])], HEIGHT, draw_panel)
