# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-train writes the page that kadam-report makes of its files, and the page's command makes the same run again.

training_test.py KADAM_REPORT KADAM_TRAIN LAUNCHER...
"""
import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import small_data
from expect import expect
from program import Program, metrics, parameters
from reporter import Reporter, expect_self_contained

reporter, program = Reporter(sys.argv[1]), Program(sys.argv[2:])


def check_files(folder):
    record = json.loads((folder / "onebit_adam/run.json").read_text())
    (start,) = record["starts"]
    expect(record["parameters"] == sum(small_data.IMAGE_TENSORS.values()) and record["steps"] == 40, record)
    expect(record["examples_per_step"] == 16 and start["ranks"] == 2 and start["after_step"] == 0, record)
    expect(record["result"] in json.loads((folder / "comparison.json").read_text()), record["result"])
    lines, _ = metrics(folder / "onebit_adam")
    seconds = [line["seconds"] for line in lines]
    expect(0 < seconds[0] and seconds == sorted(seconds), seconds)
    expect(seconds[-1] <= record["result"]["wall_seconds"], seconds, record)
    for line in lines:
        parts = [line[f"{part}_seconds"] for part in ("compute", "encode", "exchange", "decode", "rest")]
        expect(min(parts) >= 0 and 0 < line["wait_seconds"] <= line["exchange_seconds"], line)
    # All steps together take no longer than the run.
    steps = [b["step"] - a["step"] for a, b in zip([{"step": 0}, *lines], lines)]
    total = sum(n * sum(line[f"{part}_seconds"] for part in ("compute", "encode", "exchange", "decode", "rest"))
                for n, line in zip(steps, lines))
    expect(0.2 * seconds[-1] < total <= 1.001 * seconds[-1], total, seconds[-1])


def check_repetition(folder, record):
    """The words of the record, with mpirun as the page says, and a folder that is not in the way."""
    start = record["starts"][-1]
    expect(start["repetition"][1] == "--config", start)
    again = folder / "again"
    program.run(start["ranks"], *start["repetition"][1:], "--run", again)
    for optimizer in ("adam", "onebit_adam"):
        first, second = parameters(folder / "it's <a>" / optimizer), parameters(again / optimizer)
        expect(all((first[name] == second[name]).all() for name in first), optimizer, "is not the same again")
        losses = [[line["loss"] for line in metrics(run / optimizer)[0]] for run in (folder / "it's <a>", again)]
        expect(losses[0] == losses[1], losses)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data))
    run = folder / "it's <a>"
    program.run(2, "--config", folder / "a.toml", "--compare", "adam,onebit_adam", "--run", run, "--trace")
    check_files(run)
    written = (run / "report.html").read_text()
    expect_self_contained(written)
    made = reporter.page(folder / "made.html", run)
    expect(made.source == written, "kadam-report makes another page than kadam-train")
    for optimizer in ("adam", "onebit_adam"):
        expect(f"Two steps of {optimizer}, seen from rank 0 and rank 1" in made.tables, made.tables.keys())
    record = json.loads((run / "adam/run.json").read_text())
    expect(f"mpirun -n 2 {shlex.join(record['starts'][0]['repetition'])}" in made.text,
           "the command is not on the page")
    check_repetition(folder, record)
    # Moved, and read by a program that is started without a launcher.
    shutil.move(run, folder / "moved")
    expect(reporter.page(folder / "moved.html", folder / "moved").source == written, "another page in another folder")

    # One run, stopped and resumed: both starts are known.
    config = ["--config", folder / "a.toml", "--checkpoint", folder / "saved", "--resume", "auto"]
    config += ["--run", folder / "b"]
    program.run(2, *config, "--set", "training.steps=20")
    program.run(1, *config)
    starts = json.loads((folder / "b/run.json").read_text())["starts"]
    expect([(start["after_step"], start["ranks"]) for start in starts] == [(0, 2), (20, 1)], starts)
    page = reporter.page(folder / "b.html", folder / "b")
    expect(page.source == (folder / "b/report.html").read_text(), "another page of a resumed run")
    expect("adam: went on after step 20 at" in page.text, page.text[:800])
    version = subprocess.run([sys.argv[1], "--version"], capture_output=True, check=True).stdout
    expect(version.startswith(b"kadam-report"), version)
