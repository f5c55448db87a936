# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares predictions of kadam-plan with trainings. Called by scripts/check_plan.sh, while the hosts are up."""
import argparse
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from optimizers import algorithms_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "planning.md"
BEGIN, END = "<!-- {} -->\n", "<!-- /{} -->"
WARMUP = 8  # first steps, which do not count
PHASES = ("compute", "encode", "exchange", "decode")
ALGORITHMS = {
    "adam": {},
    "onebit_adam": {"warmup_steps": WARMUP},
    # Without the exact means of the variance every 50 steps, which a median over steps would not see.
    "locally_accumulated_adam": {"warmup_steps": WARMUP, "variance_sync_interval": 0},
}
CONFIGURATION = """
[data]
kind = "idx"
[model]
kind = "mlp"
hidden = [2048, 2048]
activation = "gelu"
[training]
batch = 2
log_every = 1
held_out_examples = 8
[optimizer]
lr = 1e-5
"""


@dataclass
class Row:
    rate: str
    levels: str
    algorithm: str
    predicted: float
    measured: float

    def deviation(self):
        return self.predicted / self.measured - 1


def write_images(folder, training=2048, held_out=64, side=28, classes=10):
    """Writes images of noise. No pixel is always 0, so that all parameters have a gradient, as in larger models."""
    folder.mkdir()
    noise = random.Random(7)
    for prefix, count in (("train", training), ("t10k", held_out)):
        head = struct.pack(">BBBBIII", 0, 0, 8, 3, count, side, side)
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(head + noise.randbytes(count * side * side))
        labels = bytes(k % classes for k in range(count))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, count) + labels)


class Hosts:
    """The hosts that are up, each with the same number of ranks."""

    def __init__(self, netlab, programs, hosts, ranks_per_host):
        self.netlab, self.programs = netlab, pathlib.Path(programs)
        self.hosts, self.ranks_per_host = hosts, ranks_per_host

    def ranks(self):
        return self.hosts * self.ranks_per_host

    def levels(self):
        return ("flat", "two") if self.ranks_per_host > 1 else ("flat",)

    def call(self, *words):
        done = subprocess.run([self.netlab, *words], capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\nfailed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def shape(self, rate):
        self.call("shape", "--rate", rate)

    def run(self, program, *arguments, levels="flat"):
        words = ["--ranks-per-host", str(self.ranks_per_host)]
        if levels == "two":
            words += ["--mpirun-args", f"-x KADAM_RANKS_PER_NODE={self.ranks_per_host}"]
        return self.call("run", *words, "--", str(self.programs / program), *arguments)


def trained(hosts, algorithm, levels, steps, folder):
    """d, and the median seconds of a step and of its phases after the warm-up; medians because others use the
    machine."""
    words = ["--config", str(folder / "train.toml"), "--set", f"data.path={folder / 'images'}", "--set",
             f"training.steps={steps}", "--set", "training.overlap=false", "--set", f"optimizer.name={algorithm}",
             "--run", str(folder / f"{algorithm}_{levels}")]
    for key, value in ALGORITHMS[algorithm].items():
        words += ["--set", f"optimizer.{algorithm}.{key}={value}"]
    text = hosts.run("kadam-train", *words, levels=levels)
    metrics = (folder / f"{algorithm}_{levels}" / "metrics.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in metrics.splitlines()]
    settled = [line for line in lines if "loss" in line and line["step"] > WARMUP]
    d = int(text.split("d = ")[1].split(" parameters")[0].replace(" ", "").replace(",", "").replace("'", ""))
    seconds = statistics.median(sum(line[f"{phase}_seconds"] for phase in PHASES) for line in settled)
    return d, seconds, {phase: statistics.median(line[f"{phase}_seconds"] for line in settled) for phase in PHASES}


def predicted(hosts, machine, d, compute, algorithm, levels):
    words = [str(hosts.programs / "kadam-plan"), "--machine", str(machine), "--parameters", str(d)]
    words += ["--compute", f"{compute}s", "--ranks", str(hosts.ranks()), "--levels", levels, "--backward-overlap", "0"]
    words += ["--background-overlap", "0", "--json"]
    for key, value in ALGORITHMS[algorithm].items():
        words += ["--set", f"{algorithm}.{key}={value}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    (found,) = [p for p in json.loads(done.stdout)["predictions"] if p["name"] == algorithm]
    return found["settled"]


def calibrate(hosts, machine):
    hosts.run("kadam-plan", "--parameters", "1M", "--ranks", str(hosts.ranks()), "--save", str(machine))


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def compare_one(hosts, rate, levels, algorithm, steps, folder):
    """The hosts are measured before and after the training: what disturbs them comes and goes."""
    machines = [folder / f"{algorithm}_{levels}_{when}.json" for when in ("before", "after")]
    calibrate(hosts, machines[0])
    d, seconds, phases = trained(hosts, algorithm, levels, steps, folder)
    calibrate(hosts, machines[1])
    plans = [predicted(hosts, machine, d, phases["compute"], algorithm, levels) for machine in machines]
    mean = {key: statistics.fmean(plan[key] for plan in plans) for key in plans[0]}
    say(f"{rate} {levels} {algorithm}: d = {d}, predicted {mean['seconds']:.3f} s (" +
        ", ".join(f"{plan['seconds']:.3f}" for plan in plans) + f") = compute {mean['compute_seconds']:.3f} + "
        f"kernels {mean['kernel_seconds']:.4f} + exchange {mean['exchange_seconds']:.3f}; measured "
        f"{seconds:.3f} s = " + " + ".join(f"{phase} {value:.4f}" for phase, value in phases.items()))
    return Row(rate, levels, algorithm, mean["seconds"], seconds)


def compare(hosts, rate, algorithms, steps):
    hosts.shape(rate)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "train.toml").write_text(CONFIGURATION, encoding="utf-8")
        write_images(folder / "images")
        return [compare_one(hosts, rate, levels, algorithm, steps, folder)
                for levels in hosts.levels() for algorithm in algorithms]


def table(rows, has_levels):
    heads = ["a host's link", *(["levels"] if has_levels else []), "optimizer", "predicted, ms", "measured, ms", "deviation"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        levels = [{"flat": "one", "two": "two"}[row.levels]] if has_levels else []
        cells = [row.rate, *levels, row.algorithm, f"{1e3 * row.predicted:.1f}", f"{1e3 * row.measured:.1f}"]
        lines.append(f"| {' | '.join(cells)} | {row.deviation():+.0%} |")
    return "\n".join(lines) + "\n"


def write(text, name):
    begin, end = BEGIN.format(name), END.format(name)
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    PAGE.write_text(before + begin + text + end + rest.split(end)[1], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--netlab", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--ranks-per-host", type=int, required=True)
    parser.add_argument("--rates", required=True)
    parser.add_argument("--optimizers", default="all")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--within", type=float)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    hosts = Hosts(options.netlab, options.programs, options.hosts, options.ranks_per_host)
    algorithms = algorithms_of(options.optimizers, ALGORITHMS)
    rows = [row for rate in options.rates.split(",") for row in compare(hosts, rate, algorithms, options.steps)]
    text = table(rows, len(hosts.levels()) > 1)
    print(text, end="")
    if options.write:
        write(text, "check" if options.ranks_per_host == 1 else "check with several ranks on a host")
    if options.within is not None:
        worst = max(abs(row.deviation()) for row in rows)
        if 100 * worst > options.within:
            sys.exit(f"the worst deviation is {worst:.0%}, more than the {options.within:g} % of --within "
                     f"(load of this machine now: {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
