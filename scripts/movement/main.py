# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with dense Adam and with optimizers that freeze the variance, and prints how far parameters moved, compared
with dense Adam (onebit_lamb: with lamb): |x(T) - x(0)| of the furthest coordinate of a tensor, divided by that of the
furthest coordinate with the dense one; the largest of all tensors. The biases of queries, keys and values lie in one
tensor, and count as three."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from report import markdown, processor, today_and_commit  # noqa: E402

STEPS, WARMUP = 300, 75
WORKLOADS = {"transformer": "examples/transformer.toml", "vit": "examples/fashion_mnist_vit.toml",
             "cnn": "examples/fashion_mnist.toml"}
SCHEDULE = {"training.steps": STEPS, "training.evaluate_every": 0, "optimizer.lr_total_steps": STEPS,
            "optimizer.lr_warmup_steps": 50}
FROZEN = {"warmup_steps": WARMUP}
# By optimizer: the dense one to compare with, and options that a run of this length needs.
OPTIMIZERS = {
    "onebit_adam": ("adam", FROZEN),
    "apmsqueeze": ("adam", FROZEN | {"bits": 1}),
    "zero_one_adam": ("adam", {"variance_freeze_step": WARMUP, "sync_doubling_steps": 100, "sync_interval_max": 4}),
    "onebit_lamb": ("lamb", FROZEN),
}
# Options of each rule, by its name.
RULES = {"as published": {"variance_floor": 0.0}, "default": {}}


@dataclass(frozen=True)
class Run:
    """Results of a training run."""

    parameters: dict  # by the name of a part
    held_out_loss: float
    largest_step: float | None  # over the learning rate, in its metrics


def tensors(path):
    """{name: tensor} of a safetensors file of float32."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    return {name: np.frombuffer(raw[start + of["data_offsets"][0]:start + of["data_offsets"][1]], "<f4")
            for name, of in header.items() if name != "__metadata__"}


def parts(path):
    """{name: part}: tensors, with the biases of attention split into three."""
    found = {}
    for name, values in tensors(path).items():
        if name.endswith("qkv.bias"):
            thirds = zip(("query", "key", "value"), np.split(values, 3))
            found |= {name.replace("qkv.bias", f"{part}.bias"): third for part, third in thirds}
        else:
            found[name] = values
    return found


def largest_step(folder):
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line["largest_step"] for line in metrics if line.get("largest_step") is not None]
    return max(steps, default=None)


def train(program, ranks, config, optimizer, settings, folder):
    command = ["mpirun", "-n", str(ranks), program, "--config", config, "--compare", optimizer, "--run", str(folder)]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    started = subprocess.run(command, capture_output=True, text=True, check=False)
    if started.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed:\n{started.stdout}{started.stderr}")
    loss = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))[0]["held_out_loss"]
    own = folder / optimizer
    return Run(parts(own / "parameters.safetensors"), float("nan") if loss is None else loss, largest_step(own))


def moved(run, start):
    """{part: distance of its furthest coordinate from the start}."""
    return {name: float(np.max(np.abs(values - start[name]))) for name, values in run.parameters.items()}


def furthest(run, dense, start):
    """The largest ratio of distances, its part and both distances. A part that dense Adam did not move is left out if the
    run did not move it either."""
    ours, theirs = moved(run, start), moved(dense, start)
    ratios = {name: (distance / theirs[name] if theirs[name] > 0 else float("inf"))
              for name, distance in ours.items() if distance > 0 or theirs[name] > 0}
    name = max(ratios, key=lambda part: np.nan_to_num(ratios[part], nan=np.inf))
    return ratios[name], name, ours[name], theirs[name]


def row(label, run, dense, start):
    ratio, name, ours, theirs = furthest(run, dense, start)
    step = "" if run.largest_step is None else f"{run.largest_step:.3g}"
    return (label, f"{run.held_out_loss:.4f}", f"{run.held_out_loss - dense.held_out_loss:+.4f}", f"{ratio:.3g}", name,
            f"{ours:.2g}", f"{theirs:.2g}", step)


def table(arguments, workload):
    """Every optimizer with every rule."""
    config = WORKLOADS[workload]
    shared = SCHEDULE | {"training.seed": arguments.seed}

    def run(optimizer, label, options):
        own = {f"optimizer.{optimizer}.{key}": value for key, value in options.items()}
        folder = arguments.out / workload / label.replace(" ", "_")
        return train(arguments.program, arguments.ranks, config, optimizer, shared | own, folder)

    start = run("adam", "start", {"lr": 0.0}).parameters
    dense = {name: run(name, name, {}) for name in sorted({of for of, _ in OPTIMIZERS.values()})}
    rows = [("optimizer", "held-out loss", "against dense", "furthest", "in", "moved", "dense moved", "largest step")]
    rows += [row(name, one, dense[name], start) for name, one in dense.items()]
    for optimizer, (of, needed) in OPTIMIZERS.items():
        for label, options in arguments.rules.items():
            name = f"{optimizer} {label}"
            rows.append(row(name, run(optimizer, name, needed | options), dense[of], start))
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    return markdown(rows)


def options_of(text):
    """Parses LABEL:NAME=VALUE,NAME=VALUE."""
    label, _, settings = text.partition(":")
    return label, dict(setting.split("=") for setting in settings.split(",") if setting)


def parse():
    parser = argparse.ArgumentParser(prog="scripts/movement.sh", description=__doc__)
    parser.add_argument("--workload", action="append", choices=WORKLOADS,
                        help="workload to train; may be repeated (default: all)")
    parser.add_argument("--rule", action="append", type=options_of, metavar="LABEL:NAME=VALUE,...",
                        help="a rule: options of the four optimizers, in place of 'as published' and 'default'; may be "
                             "repeated")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="build/bin/kadam-train")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/movement"), help="folder of the runs")
    arguments = parser.parse_args()
    arguments.rules = dict(arguments.rule) if arguments.rule else RULES
    return arguments


def main():
    arguments = parse()
    day, commit = today_and_commit()
    print(f"{day}, {processor()}, {os.cpu_count()} cores, {arguments.ranks} ranks, {STEPS} steps, {commit}")
    for workload in arguments.workload or WORKLOADS:
        print(f"\n### {workload}\n\n{table(arguments, workload)}", flush=True)


if __name__ == "__main__":
    main()
