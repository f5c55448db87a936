# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-insitu learns, sends what it plans to, and writes every file: program_test.py RANKS KADAM_INSITU LAUNCHER..."""
import json
import pathlib
import sys
import tempfile

import numpy as np

from expect import expect
from program import Program, parameters

SETTINGS = """
[solver]
width = 50 # does not divide by 4
height = 46
spots = 4
spin_up = 600
[surrogate]
radius = 2
hidden = [24]
[training]
jumps = 40
steps_per_jump = 10
batch = 64
unseen_jumps = 3
[optimizer]
lr = 0.01
[optimizer.onebit_adam]
warmup_steps = 120
"""
JUMP = ["jump", "time", "step", "loss", "learning_rate", "phase", "error", "persistence", "bytes_per_step",
        "bytes_sent", "solver_seconds", "training_seconds", "skipped_steps"]
UNSEEN = ["unseen_jump", "time", "persistence", "error", "state_persistence", "rollout_error", "replica_hash"]
ELEMENTS = 2 * 5 * 5 * 24 + 24 + 24 * 2 + 2

ranks, program = int(sys.argv[1]), Program(sys.argv[2:])


def read(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    jumps, unseen = [l for l in lines if "jump" in l], [l for l in lines if "unseen_jump" in l]
    expect(len(jumps) == 8 and len(unseen) == 3 and len(lines) == 12, lines)
    expect(all(list(l) == JUMP for l in jumps) and all(list(l) == UNSEEN for l in unseen), lines)
    return jumps, unseen, lines[-1]


def check_learning(jumps, unseen):
    # Losses are of single batches, and so noisy.
    expect(jumps[-1]["loss"] < 0.5 * jumps[0]["loss"], "the loss has not fallen", jumps)
    expect(unseen[0]["time"] == jumps[-1]["time"] + 20, "times", jumps[-1], unseen[0])
    for line in unseen:
        expect(line["error"] < 0.5 * line["persistence"], "no better than persistence:", line)
        expect(line["rollout_error"] < 0.5 * line["state_persistence"], "no better than the last state:", line)
    expect(unseen[0]["error"] == unseen[0]["rollout_error"], "the first jump of both is the same", unseen[0])


def check_bytes(name, total):
    dense = total["dense_bytes_per_step"]
    expect(total["steps"] == 400 and total["skipped_steps"] == 0, total)
    expect(total["bytes_sent"] == total["planned_bytes"], "not what was planned:", total)
    expect(total["control_bytes"] == 400 * 16 * (ranks - 1), total)
    # Chunks are multiples of 64 elements: rank 0 may have a larger or a smaller one than the others.
    expect(abs(dense / (8 * (ranks - 1) / ranks * ELEMENTS) - 1) < 0.2, dense)
    if program.known[name]["dense"]:
        expect(total["bytes_sent"] == 400 * dense, total)
    else:
        expect(120 * dense < total["bytes_sent"] < 0.45 * 400 * dense, total)


def check_files(folder):
    tensors = parameters(folder)
    expect(sum(v.size for v in tensors.values()) == ELEMENTS, {k: v.size for k, v in tensors.items()})
    truth, prediction = np.load(folder / "truth.npy"), np.load(folder / "prediction.npy")
    expect(truth.shape == prediction.shape == (2, 46, 50) and truth.dtype == np.float32, truth.shape)
    error = np.sqrt(np.mean([np.sum((p - t) ** 2) / np.sum(t**2) for p, t in zip(prediction, truth)]))
    _, unseen, _ = read(folder)
    expect(abs(error / unseen[-1]["rollout_error"] - 1) < 1e-3, error, unseen[-1])
    written = {path.name for path in folder.iterdir()}
    expect(written == {"config.toml", "metrics.jsonl", "parameters.safetensors", "truth.npy", "prediction.npy"}, written)


def check_output(text):
    expect("\r" not in text and "\x1b" not in text, "control characters in", repr(text))
    shown = [line for line in text.splitlines() if " step " in line and "persistence" in line]
    expect(0 < len(shown) <= 10, "lines of progress:", shown)
    expect("Unseen times" in text and "per time step of the solver" in text, text)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "small.toml").write_text(SETTINGS)
    for optimizer in "adam", "onebit_adam":
        run = folder / optimizer
        check_output(program.run(ranks, "--config", folder / "small.toml", "--optimizer", optimizer, "--run", run))
        jumps, unseen, total = read(run)
        check_learning(jumps, unseen)
        check_bytes(optimizer, total)
        check_files(run)
    # What a run leaves says how to make it again, to the last bit.
    program.run(ranks, "--config", folder / "onebit_adam" / "config.toml", "--run", folder / "again")
    expect(read(folder / "again")[1] == read(folder / "onebit_adam")[1], "another run")
