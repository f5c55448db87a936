# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of scripts/results.sh, from runs that a stand-in for mpirun makes up: tables_test.py FOLDER"""
import json
import os
import pathlib
import sys
import tempfile

from expect import expect
from made_optimizers import KINDS, kind

sys.path.insert(0, sys.argv[1])
os.chdir(pathlib.Path(sys.argv[1]).parents[1])  # example files are named from the root
import main  # noqa: E402
import runs  # noqa: E402
import studies  # noqa: E402
import tables  # noqa: E402
from documents import MARKER  # noqa: E402

# Held-out loss: (log10(lr) + 2)^2 + seed / 100, so that 0.01 is best; compressed methods lose 0.015.
STAND_IN = """#!/usr/bin/env python3
import json, math, os, pathlib, sys
words = sys.argv[1:]
settings = dict(w.split("=", 1) for k, w in enumerate(words) if words[k - 1] == "--set")
name, folder = words[words.index("--compare") + 1], pathlib.Path(words[words.index("--run") + 1])
with open(os.environ["STARTED"], "a") as log:
    log.write(name + "\\n")
rate = float(settings[f"optimizer.{name}.lr"])
loss = (math.log10(rate) + 2) ** 2 + int(settings["training.seed"]) / 100
if name == "onebit_adam":
    loss += 0.015
if rate > 0.05:
    loss = None
folder.mkdir(parents=True)
sent = 1000.0 if name == "adam" else 40.0
(folder / "comparison.json").write_text(json.dumps([{
    "held_out_loss": loss, "held_out_accuracy": 0.5, "bytes_per_step": sent, "dense_bytes_per_step": 1000.0,
    "background_bytes_per_step": 30.0 if name == "divisible_adam" else 0.0, "mean_bytes_per_step": 100.0}]))
"""


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "mpirun").write_text(STAND_IN)
    (folder / "mpirun").chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    os.environ["STARTED"] = str(folder / "started")

    def plain(name):
        return studies.Method(name, name, kind(name))

    def rows(optimizers, rates=(0.1, 0.01, 0.001)):
        progress = runs.Progress(0)
        return [runs.row_of(studies.CNN, method, rates, studies.CONVERGENCE.seeds, folder / "out", progress)
                for method in map(plain, optimizers)]

    def started():
        return len((folder / "started").read_text().splitlines())

    made = rows(["adam", "onebit_adam", "divisible_adam"])
    expect([row.rate for row in made] == [0.01] * 3, "the best rate is not chosen", made)
    expect(started() == 3 * 5, "3 rates with one seed, then 2 more seeds:", started())
    expect(abs(made[0].deviation() - 0.01) < 1e-12, made[0].losses())

    text = tables.table(made)
    lines = text.splitlines()
    expect("0.0200 ± 0.0100" in lines[2] and "range 0.0200" in lines[2] and " 1x " in lines[2], lines[2])
    expect("+0.0150 *" in lines[3] and " 25x " in lines[3] and " 12.5x " in lines[3], lines[3])
    expect(" 100x " in lines[4] and " 10x " in lines[4], "foreground, whole run:", lines[4])
    expect(lines[0].split("|")[2].strip() == "whole run", "what a whole run sends comes first:", lines[0])
    wide = runs.Run(studies.MANY_RANKS.workloads[0], plain("adam"), 0.01, 1)
    expect(wide.command(pathlib.Path())[:3] == ["mpirun", "-n", "16"], wide.command(pathlib.Path()))
    expect(len({len(line) for line in lines}) == 1, "columns are not aligned", text)
    expect("diverged" in tables.rates_tried(made), tables.rates_tried(made))

    # In the document, each table has a place of its own; what stands around it stays.
    place = "<!-- results {} cnn -->\n{}<!-- /results {} cnn -->\n"
    (folder / "results.md").write_text("before\n" + place.format("variance", "old\n", "variance") +
                                       "between\n" + place.format("zero_one", "other\n", "zero_one"))
    main.write(studies.VARIANCE, [(studies.CNN, made)], folder)
    written = (folder / "results.md").read_text()
    expect(written.startswith("before\n<!-- results variance cnn -->\n### CNN") and lines[3] in written, written)
    expect(written.endswith("between\n" + place.format("zero_one", "other\n", "zero_one")), written)
    expect("old" not in written and len(list(folder.glob("pictures/*"))) == 0, written)
    # What is made of all workloads: a page for each optimizer that has one, differences for all.
    places = [f"{MARKER} {studies.CONVERGENCE.name} {workload.name}" for workload in studies.CONVERGENCE.workloads]
    (folder / "results.md").write_text("".join(f"<!-- {one} -->\n<!-- /{one} -->\n" for one in places))
    (folder / "algorithms").mkdir()
    (folder / "pictures").mkdir()
    pages = [folder / "choosing.md", *(folder / "algorithms" / f"{name}.md" for name in ("adam", "divisible_adam"))]
    for page in pages:
        page.write_text(f"<!-- {MARKER} -->\nold\n<!-- /{MARKER} -->\n")
    main.write(studies.CONVERGENCE, [(workload, made) for workload in studies.CONVERGENCE.workloads], folder)
    choosing, _, divisible = (page.read_text().splitlines() for page in pages)
    expect(cells(choosing[1]) == ["method", "whole run, less than float32", "transformer", "ViT", "CNN"], choosing)
    expect(cells(choosing[3]) == ["`onebit_adam`", "10x", *["+0.0150 *"] * 3] and len(choosing) == 6, choosing)
    expect(cells(divisible[5])[:4] == ["CNN", "divisible_adam", "0.01", "0.0200 ± 0.0100"], divisible)
    expect(cells(divisible[5])[-2:] == ["10x", "25x; foreground 100x"] and len(divisible) == 7, divisible)

    rows(["adam", "onebit_adam"])
    expect(started() == 3 * 5, "runs that are there were repeated")
    rows(["adam"], rates=(0.1, 0.02))
    expect(started() == 3 * 5 + 3, "another rate: 1 run and 2 seeds", started())
    # What another command made does not count.
    said = runs.Run(studies.CNN, plain("adam"), 0.01, 1).folder(folder / "out") / "made_by.txt"
    said.write_text("something else")
    rows(["adam"])
    expect(started() == 3 * 5 + 4, "a run of another command was taken for this one", started())
    figures = said.parent / "comparison.json"
    expect(json.loads(figures.read_text())[0]["dense_bytes_per_step"] == 1000.0, figures)

    # What nobody has tuned is trained, with a warm-up if it needs one; and only where every optimizer is.
    methods = {method.label: method for method in studies.CONVERGENCE.methods(KINDS)}
    expect(list(dict.fromkeys(method.optimizer for method in methods.values())) == list(KINDS), list(methods))
    new = runs.Run(studies.TRANSFORMER, methods["new_adam"], 0.01, 1).settings()
    expect(new == {"optimizer.new_adam.new_steps": 150, "optimizer.new_adam.lr": 0.01, "training.seed": 1}, new)
    onebit = runs.Run(studies.TRANSFORMER, methods["onebit_adam"], None, 1).settings()
    expect(onebit == {"training.seed": 1}, onebit)
    rates = [studies.CNN.rates_for(methods[name]) for name in ("adam", "lamb")]
    expect(rates == [studies.CNN.rates, studies.CNN.lamb_rates], rates)
    labels = [method.label for method in studies.VARIANCE.methods(KINDS)]
    expect(labels[:2] == ["adam", "onebit_adam as published"] and "new_adam" not in labels, labels)
