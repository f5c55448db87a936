# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What folders of runs say, whole and broken: read_runs_test.py"""
import pathlib
import tempfile

import made_runs
import package
from expect import expect
from kadam_report.palette import styles_of
from kadam_report.read_runs import read_runs
from kadam_report.run import Refusal

LINES = """{"step":10,"loss":2.5,"bytes_per_step":100}
{"step":20,"loss":null,"warning_error_ratio":"too much"}
{"step":20,"held_out_loss":1.5}
{"step":30,"lo"""
RECORD = ('{"optimizer":"adam","kind":{"dense":true,"place":0},"parameters":3,"steps":1e300,'
          '"starts":[{"ranks":-1,"time":"x","command":["a",1]}],"result":{"steps":9}}')


def make_run(folder, metrics=LINES):
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text(metrics)
    return folder


def check_lines(folder):
    (run,) = read_runs([make_run(folder / "adam")])
    expect(run.optimizer == "adam", "the folder's name, for want of better", run)
    expect([line.numbers.get("loss") for line in run.training] == [2.5, None], run.training)
    expect([line.numbers["held_out_loss"] for line in run.evaluations] == [1.5], run.evaluations)
    expect([caution.text for caution in run.cautions.values()] == ["too much"] and not run.result, run)
    remarks = "".join(run.remarks)
    for words in ("1 line of metrics.jsonl", "no config.toml", "no run.json", "no result"):
        expect(words in remarks, words, "not in", remarks)


def check_names(folder):
    path = make_run(folder / "a")
    (path / "config.toml").write_text('[training]\nsteps = 3\n\n[optimizer]\nname = "lamb"\nlr = 1\n')
    expect(read_runs([path])[0].optimizer == "lamb", "not the configuration's name")
    (path / "run.json").write_text('{"optimizer": "loco", "result": {"training_loss": 1.5, "held_out_loss": null}}')
    (run,) = read_runs([path])
    expect(run.optimizer == "loco" and run.result == {"training_loss": 1.5}, run)


def check_comparison(folder):
    for name in ("adam", "lamb", "another"):
        make_run(folder / "c" / name)
    (folder / "c/comparison.json").write_text('[{"optimizer": "lamb", "training_loss": 0.5}, {"optimizer": "adam"}]')
    runs = read_runs([folder / "c"])
    expect([run.label for run in runs] == ["lamb", "adam", "another"], runs)
    expect(runs[0].result == {"training_loss": 0.5} and not runs[1].result, runs)


def check_labels(folder):
    days = [make_run(folder / day / "adam").parent for day in ("monday", "tuesday", "x/tuesday")]
    expect([run.label for run in read_runs(days[:2])] == ["adam (monday)", "adam (tuesday)"], "two days")
    labels = [run.label for run in read_runs(days)]
    expect(labels[0] == "adam (monday)" and len(set(labels)) == 3, labels)


def check_colours(folder):
    """As run.json says; of runs without it the dense ones are seen by their phases, and others take what is left."""
    for name in ("zero_one_adam", "adam", "lamb"):
        made_runs.write_run(folder / f"new_{name}", name)
    made_runs.write_run(folder / "old", "loco", new=False)
    made_runs.write_run(folder / "dense", "another", new=False)
    made_runs.write_run(folder / "old_adam", "adam", new=False)
    metrics = folder / "dense/metrics.jsonl"
    metrics.write_text(metrics.read_text().replace('"warm-up"', '"dense"').replace('"compressed"', '"dense"'))
    styles = styles_of(read_runs([folder / name for name in
                                  ("old", "old_adam", "new_zero_one_adam", "dense", "new_adam", "new_lamb")]))
    colours = {style.text: style.colour for style in styles}
    expect(colours == {"zero_one_adam": "#e69f00", "adam (old_adam)": "#000000", "adam (new_adam)": "#000000",
                       "lamb": "#888888", "loco": "#0072b2", "another": "#000000"}, colours)


def check_broken(folder):
    path = make_run(folder / "a")
    for file, content in (("run.json", RECORD), ("metrics.jsonl", LINES)):
        refused = 0
        for broken in package.changed(content, 1500):
            (path / file).write_bytes(broken)
            try:
                read_runs([path])
            except Refusal as reason:
                refused += 1
                expect(f"{path / file}: " in str(reason), reason)
        expect(0 < refused < 1500, file, refused)
        (path / file).write_text(content)


for check in (check_lines, check_names, check_comparison, check_labels, check_colours, check_broken):
    with tempfile.TemporaryDirectory() as name:
        check(pathlib.Path(name))
