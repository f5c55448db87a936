# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training runs: each is started once; later its folder is read."""
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from tuned import needed_options  # noqa: E402

PROGRAM = "build/bin/kadam-train"


@dataclass(frozen=True)
class Run:
    """One training run. rate: None is that of the example file."""

    workload: object
    method: object
    rate: float | None
    seed: int

    def folder(self, out):
        rate = "own" if self.rate is None else f"{self.rate:g}"
        return out / self.workload.name / self.method.label.replace(" ", "_") / f"lr_{rate}_seed_{self.seed}"

    def settings(self):
        own = self.method.options
        of_optimizer = needed_options(self.method.kind, self.workload.config, own) | own
        if self.rate is not None:
            of_optimizer["lr"] = self.rate
        settings = {f"optimizer.{self.method.optimizer}.{key}": value for key, value in of_optimizer.items()}
        return settings | self.workload.settings | {"training.seed": self.seed}

    def command(self, folder):
        command = ["mpirun", "-n", str(self.workload.ranks), PROGRAM, "--config", self.workload.config]
        for key, value in self.settings().items():
            command += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
        return command + ["--compare", self.method.optimizer, "--run", str(folder)]


def result_of(run, out):
    """The figures of comparison.json; trains first unless the same command and configuration made them."""
    folder = run.folder(out)
    figures = folder / "comparison.json"
    said = folder / "made_by.txt"
    command = run.command(folder)
    made_by = f"{' '.join(command)}\n\n{pathlib.Path(run.workload.config).read_text(encoding='utf-8')}"
    if not (figures.exists() and said.exists() and said.read_text(encoding="utf-8") == made_by):
        shutil.rmtree(folder, ignore_errors=True)
        started = subprocess.run(command, capture_output=True, text=True, check=False)
        if started.returncode != 0:
            sys.exit(f"{' '.join(command)}\nfailed:\n{started.stdout}{started.stderr}")
        (folder / "output.txt").write_text(started.stdout + started.stderr)
        said.write_text(made_by, encoding="utf-8")
    return json.loads(figures.read_text())[0]


def loss_of(result):
    """Held-out loss; infinite if it is not a number."""
    loss = result["held_out_loss"]
    return math.inf if loss is None or math.isnan(loss) else loss


class Progress:
    """A line per run on a terminal, overwritten; otherwise one per row."""

    def __init__(self, runs):
        self.runs, self.done, self.start = runs, 0, time.monotonic()

    def says(self, text):
        if sys.stderr.isatty():
            seconds = time.monotonic() - self.start
            print(f"\r\033[K{self.done}/{self.runs} runs, {seconds:.0f} s  {text}", end="", file=sys.stderr)
            sys.stderr.flush()

    def counts(self):
        self.done += 1

    def ends_row(self, text):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        print(f"{self.done}/{self.runs} runs  {text}", file=sys.stderr)


@dataclass(frozen=True)
class Row:
    """A method on a workload: the best rate of those tried, and the results of its seeds."""

    method: object
    rate: float | None
    tried: dict  # {rate: held-out loss of the first seed}
    results: list  # results of each seed

    def mean(self, key):
        return statistics.fmean(math.nan if r[key] is None else r[key] for r in self.results)

    def losses(self):
        return [loss_of(r) for r in self.results]

    def deviation(self):
        losses = self.losses()
        return statistics.stdev(losses) if len(losses) > 1 and all(map(math.isfinite, losses)) else 0.0


def row_of(workload, method, rates, seeds, out, progress):
    """Tries the rates with the first seed, then runs the best one with the others."""
    tried = {}
    first = {}
    for rate in rates:
        progress.says(f"{workload.name} {method.label} lr {rate or 'of the file'}")
        first[rate] = result_of(Run(workload, method, rate, seeds[0]), out)
        tried[rate] = loss_of(first[rate])
        progress.counts()
    best = min(rates, key=tried.get)
    results = [first[best]]
    for seed in seeds[1:]:
        progress.says(f"{workload.name} {method.label} lr {best} seed {seed}")
        results.append(result_of(Run(workload, method, best, seed), out))
        progress.counts()
    row = Row(method, best, tried, results)
    progress.ends_row(f"{workload.name:12} {method.label:28} held-out loss {statistics.fmean(row.losses()):.4f}")
    return row
