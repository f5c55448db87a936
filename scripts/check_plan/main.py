# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Called by scripts/check_plan.sh, while four hosts are up."""
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "planning.md"
BEGIN, END = "<!-- check -->\n", "<!-- /check -->"
RANKS = 4
WARMUP = 8  # steps that do not count, of all optimizers
PHASES = ("compute", "encode", "exchange", "decode")
ALGORITHMS = {
    "adam": {},
    "onebit_adam": {"warmup_steps": WARMUP},
    # Without the exact means of the variance every 50 steps: a median of steps would not see them.
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
    algorithm: str
    predicted: float
    measured: float

    def deviation(self):
        return self.predicted / self.measured - 1


def write_images(folder, training=2048, held_out=64, side=28, classes=10):
    """Noise without a pixel that is always 0, so that all parameters have a gradient, as in larger models."""
    folder.mkdir()
    noise = random.Random(7)
    for prefix, count in (("train", training), ("t10k", held_out)):
        head = struct.pack(">BBBBIII", 0, 0, 8, 3, count, side, side)
        (folder / f"{prefix}-images-idx3-ubyte").write_bytes(head + noise.randbytes(count * side * side))
        labels = bytes(k % classes for k in range(count))
        (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, count) + labels)


class Hosts:
    """The hosts that are up."""

    def __init__(self, netlab, programs):
        self.netlab, self.programs = netlab, pathlib.Path(programs)

    def call(self, *words):
        done = subprocess.run([self.netlab, *words], capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\nfailed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def shape(self, rate):
        self.call("shape", "--rate", rate)

    def run(self, program, *arguments):
        return self.call("run", "--", str(self.programs / program), *arguments)


def trained(hosts, algorithm, steps, folder):
    """d, the seconds of a step and those of its phases, after the warm-up: medians, as others use this machine, too."""
    words = ["--config", str(folder / "train.toml"), "--set", f"data.path={folder / 'images'}", "--set",
             f"training.steps={steps}", "--set", "training.overlap=false", "--set", f"optimizer.name={algorithm}",
             "--run", str(folder / algorithm)]
    for key, value in ALGORITHMS[algorithm].items():
        words += ["--set", f"optimizer.{algorithm}.{key}={value}"]
    text = hosts.run("kadam-train", *words)
    metrics = (folder / algorithm / "metrics.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in metrics.splitlines()]
    settled = [line for line in lines if "loss" in line and line["step"] > WARMUP]
    d = int(text.split("d = ")[1].split(" parameters")[0].replace(" ", "").replace(",", "").replace("'", ""))
    seconds = statistics.median(sum(line[f"{phase}_seconds"] for phase in PHASES) for line in settled)
    return d, seconds, {phase: statistics.median(line[f"{phase}_seconds"] for line in settled) for phase in PHASES}


def predicted(programs, machine, d, compute, algorithm):
    words = [str(pathlib.Path(programs) / "kadam-plan"), "--machine", str(machine), "--parameters", str(d)]
    words += ["--compute", f"{compute}s", "--ranks", str(RANKS), "--levels", "flat", "--backward-overlap", "0"]
    words += ["--background-overlap", "0", "--json"]
    for key, value in ALGORITHMS[algorithm].items():
        words += ["--set", f"{algorithm}.{key}={value}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    (found,) = [p for p in json.loads(done.stdout)["predictions"] if p["name"] == algorithm]
    return found["settled"]


def calibrate(hosts, machine):
    hosts.run("kadam-plan", "--parameters", "1M", "--ranks", str(RANKS), "--save", str(machine))


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def compare(hosts, rate, steps):
    """The hosts are measured before and after each training: what disturbs them comes and goes."""
    hosts.shape(rate)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "train.toml").write_text(CONFIGURATION, encoding="utf-8")
        write_images(folder / "images")
        for algorithm in ALGORITHMS:
            machines = [folder / f"{algorithm}_{when}.json" for when in ("before", "after")]
            calibrate(hosts, machines[0])
            d, seconds, phases = trained(hosts, algorithm, steps, folder)
            calibrate(hosts, machines[1])
            plans = [predicted(hosts.programs, machine, d, phases["compute"], algorithm) for machine in machines]
            mean = {key: statistics.fmean(plan[key] for plan in plans) for key in plans[0]}
            rows.append(Row(rate, algorithm, mean["seconds"], seconds))
            say(f"{rate} {algorithm}: d = {d}, predicted {mean['seconds']:.3f} s (" +
                ", ".join(f"{plan['seconds']:.3f}" for plan in plans) + f") = compute {mean['compute_seconds']:.3f} + "
                f"kernels {mean['kernel_seconds']:.4f} + exchange {mean['exchange_seconds']:.3f}; measured "
                f"{seconds:.3f} s = " + " + ".join(f"{phase} {value:.4f}" for phase, value in phases.items()))
    return rows


def table(rows):
    text = ["| a host's link | optimizer | predicted, ms | measured, ms | deviation |", "|---|---|---|---|---|"]
    text += [f"| {row.rate} | {row.algorithm} | {1e3 * row.predicted:.1f} | {1e3 * row.measured:.1f} | "
             f"{row.deviation():+.0%} |" for row in rows]
    return "\n".join(text) + "\n"


def write(text):
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + text + END + rest.split(END)[1], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--netlab", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--rates", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--within", type=float)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    hosts = Hosts(options.netlab, options.programs)
    rows = [row for rate in options.rates.split(",") for row in compare(hosts, rate, options.steps)]
    print(table(rows), end="")
    if options.write:
        write(table(rows))
    if options.within is not None:
        worst = max(abs(row.deviation()) for row in rows)
        if 100 * worst > options.within:
            sys.exit(f"the worst deviation is {worst:.0%}, allowed are {options.within:g} % "
                     f"(load of this machine now: {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
