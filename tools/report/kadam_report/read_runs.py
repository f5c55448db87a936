# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds runs in folders, and gives each a unique name."""
import os
import pathlib
import re

from kadam_report.metrics import read_metrics
from kadam_report.read_trace import read_trace
from kadam_report.record import read_comparison, read_record
from kadam_report.run import Refusal, Run
from kadam_report.texts import in_one_line


def is_run(folder):
    return (folder / "metrics.jsonl").is_file()


def read_run(folder):
    run = Run(folder)
    read_metrics(run)
    read_record(run)
    read_trace(run)
    named = re.search(r'\[optimizer\]\nname = "([^"]*)', run.configuration)
    run.optimizer = in_one_line(run.optimizer or (named[1] if named else "") or folder.absolute().name)
    run.label = run.optimizer
    return run


def runs_inside(folder, results):
    """The folders of runs in a comparison's folder: those with results in their order, then the others by name."""
    places = {name: place for place, (name, _) in reversed(list(enumerate(results)))}
    inside = [path for path in folder.iterdir() if is_run(path)]
    return sorted(inside, key=lambda path: (places.get(path.name, len(results)), str(path)))


def read_comparison_runs(folder):
    if not folder.is_dir():
        raise Refusal(f"{folder}: there is no such folder; expected one that kadam-train --run has written")
    results = read_comparison(folder)
    runs = [read_run(path) for path in runs_inside(folder, results)]
    if not runs:
        raise Refusal(f"{folder}: expected metrics.jsonl in it (a run of kadam-train), or in the folders in it (a "
                      "comparison); found none")
    for run in runs:
        run.result = run.result or next((numbers for name, numbers in results if name == run.optimizer), {})
    return runs


def folder_name(run):
    """The name of a run's folder, or of the one above if it has the optimizer's name: it tells apart runs of one
    optimizer."""
    whole = pathlib.Path(os.path.abspath(run.folder))
    return whole.parent.name if whole.name == run.optimizer else whole.name


def tell_apart(runs):
    for name_of in (folder_name, lambda run: os.path.normpath(run.folder)):
        labels = [run.label for run in runs]
        for run in runs:
            if labels.count(run.label) > 1:
                run.label = in_one_line(f"{run.optimizer} ({name_of(run)})")


def read_runs(folders):
    """All runs in these folders, in order; a folder of a comparison has several."""
    runs = []
    for folder in map(pathlib.Path, folders):
        runs += [read_run(folder)] if is_run(folder) else read_comparison_runs(folder)
    seen = set()
    for run in runs:
        real = os.path.realpath(run.folder)
        if real in seen:
            raise Refusal(f"{run.folder} was given twice: name each run once")
        seen.add(real)
    tell_apart(runs)
    for run in runs:
        if not run.result:
            run.remarks.append("It has no result: it is still running, or ended before its last step.")
    return runs
