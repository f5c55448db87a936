# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of runs as kadam-train writes them, with numbers that are known."""
import json
import math

CONFIGURATION = """[data]
kind = "idx"

[training]
steps = {steps}

[optimizer]
name = "{optimizer}"
lr = 0.01
"""


def loss_at(step, scale):
    return scale * (0.2 + 2.0 * math.exp(-step / 150))


def training_lines(steps, scale, sent, every=10):
    """Loss falls, `sent` bytes after a warm-up of a quarter in which 80,000 are sent."""
    lines = []
    total = 0
    for step in range(every, steps + 1, every):
        warm = step <= steps // 4
        of_step = 80000 if warm else sent
        total += every * of_step
        lines.append({"step": step, "seconds": 0.02 * step, "loss": loss_at(step, scale),
                      "phase": "warm-up" if warm else "compressed", "bytes_per_step": of_step, "bytes_sent": total,
                      "compute_seconds": 0.008, "encode_seconds": 0.0005, "exchange_seconds": 0.003,
                      "decode_seconds": 0.001, "rest_seconds": 0.0002, "wait_seconds": 0.002, "skipped_steps": 0}
                     | ({} if warm else {"error_ratio": 1 + 0.001 * step}))
    return lines


def result(optimizer, steps, scale, sent):
    return {"optimizer": optimizer, "training_loss": loss_at(steps, scale), "held_out_loss": 1.1 * scale,
            "held_out_accuracy": 0.8125, "bytes_per_step": sent, "background_bytes_per_step": 0,
            "mean_bytes_per_step": 0.25 * 80000 + 0.75 * sent, "dense_bytes_per_step": 80000, "compute_seconds": 0.0081,
            "encode_seconds": 0.0006, "exchange_seconds": 0.0031, "decode_seconds": 0.0011, "rest_seconds": 0.0002,
            "wait_seconds": 0.0021, "wall_seconds": 95.2, "steps": steps, "skipped_steps": 0}


def record(optimizer, steps, host="here"):
    return {"optimizer": optimizer, "model": "cnn", "parameters": 20490, "data": "images <small> & \"quoted\"",
            "steps": steps, "examples_per_step": 64, "dense_bytes_per_step": 80000, "starts": [
                {"time": "2026-03-01T12:34:56Z", "after_step": 0, "host": host, "processor": "a processor", "ranks": 2,
                 "exchange": "MPI, 2 ranks", "threads": 1, "execution_space": "OpenMP", "version": "0.1.0",
                 "build": "kadam-train 0.1.0\nKokkos", "folder": "/home/it's me",
                 "environment": {"OMP_NUM_THREADS": "1"}, "command": ["kadam-train", "--set", "a=[1, 2]"],
                 "repetition": ["kadam-train", "--config", "runs/a b/config.toml"]}]}


def write_run(folder, optimizer, steps=400, scale=1.0, sent=2600, new=True, finished=True, evaluations=(200, 400)):
    """new: with run.json; without it and what it brings, as an earlier kadam-train wrote runs."""
    folder.mkdir(parents=True)
    lines = training_lines(steps, scale, sent)
    if not new:
        for line in lines:
            for name in ("seconds", "rest_seconds", "wait_seconds"):
                del line[name]
    for step in evaluations:
        lines.append({"step": step, "held_out_loss": 1.1 * scale, "held_out_accuracy": 0.8125,
                      "held_out_predictions": 64, "replica_hash": "0"})
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "config.toml").write_text(CONFIGURATION.format(steps=steps, optimizer=optimizer))
    if new:
        said = record(optimizer, steps)
        if finished:
            said["result"] = result(optimizer, steps, scale, sent)
        (folder / "run.json").write_text(json.dumps(said))


def write_comparison(folder, new=True, optimizers=("zero_one_adam", "adam")):
    sent = {"adam": 80000}
    for k, optimizer in enumerate(optimizers):
        write_run(folder / optimizer, optimizer, scale=1 + 0.1 * k, sent=sent.get(optimizer, 2600), new=new)
    results = [result(optimizer, 400, 1 + 0.1 * k, sent.get(optimizer, 2600)) for k, optimizer in enumerate(optimizers)]
    (folder / "comparison.json").write_text(json.dumps(results))
