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


# As make_optimizer.cpp has them: whether dense, and which of those.
KINDS = {"adam": (True, 0), "lamb": (True, 1), "onebit_adam": (False, 0), "zero_one_adam": (False, 2)}


def record(optimizer, steps, host="here"):
    dense, place = KINDS.get(optimizer, (False, 5))
    return {"optimizer": optimizer, "kind": {"dense": dense, "place": place}, "model": "cnn", "parameters": 20490,
            "data": "images <small> & \"quoted\"",
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


def lasting(rank, track, name, begin, end):
    """Of a timeline, in milliseconds."""
    return {"name": name, "ph": "X", "pid": rank, "tid": track, "ts": 1000 * begin, "dur": 1000 * (end - begin)}


def timeline_of(rank, steps, background):
    """Steps of 50 ms: 30 of the gradient, 4 of waiting, 1 of encoding, 5 of exchange, 2 of decoding. Rank 1 is 3 late.
    background: when exchanges begin that take 60 and bring a message every 10."""
    events = [{"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}},
              {"name": "process_labels", "ph": "M", "pid": rank, "args": {"labels": f"clock +- {20 * rank} us"}}]
    for step in range(steps):
        at = 100 + 50 * step + 3 * rank
        parts = [(0, "KokkosBlas::gemm", 1, 29), (0, "kadam-train::gradient", 0, 30), (1, "kadam::check", 30, 34),
                 (1, "kadam::select_top_k", 34, 35), (1, "kadam::encode", 34, 35), (2, "receive", 36, 39),
                 (2, "sparse exchange", 35, 40), (1, "kadam::exchange", 35, 40), (1, "kadam::decode", 40, 42),
                 (0, "kadam-train::step", 0, 50)]
        events += [lasting(rank, track, name, at + begin, at + end) for track, name, begin, end in parts]
        events.append({"name": "send", "ph": "i", "s": "t", "pid": rank, "tid": 2, "ts": 1000 * (at + 35)})
    for at in background:
        events += [lasting(rank, 3, "receive", at + k, at + k + 10) for k in range(0, 60, 10)]
        events.append(lasting(rank, 3, "background exchange", at, at + 60))
    return events


def write_timeline(folder, ranks=2, steps=8, background=(302,)):
    events = [event for rank in range(ranks) for event in timeline_of(rank, steps, background)]
    lines = ",\n".join(json.dumps(event) for event in events)
    (folder / "trace.json").write_text('{"displayTimeUnit":"ms","traceEvents":[\n' + lines + "\n]}\n")


def write_comparison(folder, new=True, optimizers=("zero_one_adam", "adam")):
    sent = {"adam": 80000}
    for k, optimizer in enumerate(optimizers):
        write_run(folder / optimizer, optimizer, scale=1 + 0.1 * k, sent=sent.get(optimizer, 2600), new=new)
    results = [result(optimizer, 400, 1 + 0.1 * k, sent.get(optimizer, 2600)) for k, optimizer in enumerate(optimizers)]
    (folder / "comparison.json").write_text(json.dumps(results))
