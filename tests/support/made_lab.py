# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In place of scripts/netlab.sh and of kadam-train, where a test is of what a script makes of them."""

# Drops what comes before the program; counts a million bytes for each run; notes the rates.
NETLAB = """#!/bin/sh
folder=$(dirname "$0")
case $1 in
  shape) echo "$3$5" >>"$folder/rates" ;;
  bytes) echo "{\\"hosts\\": [{\\"host\\": \\"h0\\", \\"sent\\": $(($(wc -l <"$folder/runs") * 1000000))}]}" ;;
  *)
    echo run >>"$folder/runs"
    while [ "$1" != -- ]; do shift; done
    shift
    exec "$@" ;;
esac
"""

# Losses fall by 0.01 a step from 3; a dense step takes 4 s but the first, a compressed one 1 s, every fourth 2 s.
TRAIN = """#!/usr/bin/env python3
import json, pathlib, sys
words = sys.argv[1:]
settings = dict(w.split("=", 1) for k, w in enumerate(words) if words[k - 1] == "--set")
name, folder = words[words.index("--compare") + 1], pathlib.Path(words[words.index("--run") + 1])
if name == "lamb":
    sys.exit("--------\\nkadam-train: error: no room for lamb")
folder = folder / name
folder.mkdir(parents=True)
steps = int(settings.get("training.steps", 100))
warm_up = int(settings.get(f"optimizer.{name}.warmup_steps", 50))
with open(folder / "metrics.jsonl", "w") as lines:
    for step in range(1, steps + 1):
        dense = name == "adam" or step <= warm_up
        seconds = 9.0 if step == 1 else 4.0 if dense else 2.0 if step % 4 == 0 else 1.0
        if settings.get("optimizer.adam.gradients") == "bf16":
            seconds /= 2
        phase = "dense" if name == "adam" else "warm-up" if dense else "compressed"
        lines.write(json.dumps({"step": step, "loss": 3.01 - 0.01 * step, "phase": phase, "bytes_per_step": 8000.0,
                                "bytes_sent": 8000 * step, "compute_seconds": 0.5, "encode_seconds": 0.125,
                                "exchange_seconds": seconds - 0.75, "decode_seconds": 0.125, "skipped_steps": 0}))
        lines.write("\\n")
    lines.write(json.dumps({"step": steps, "held_out_loss": 2.0}) + "\\n")
figures = {"optimizer": name, "held_out_loss": 2.0, "mean_bytes_per_step": 8000.0}
folder.with_name("comparison.json").write_text(json.dumps([figures]))
"""


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return str(path)
