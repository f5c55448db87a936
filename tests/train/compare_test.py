# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two optimizers, their table, files and bytes: compare_test.py RANKS KADAM_TRAIN LAUNCHER..."""
import json
import pathlib
import shlex
import sys
import tempfile

import small_data
from expect import expect
from program import Program, metrics

ranks, program = int(sys.argv[1]), Program(sys.argv[2:])
d = sum(small_data.IMAGE_TENSORS.values())


def chunks():
    length = 64 * -(-(-(-d // ranks)) // 64)
    return [min(length, max(0, d - rank * length)) for rank in range(ranks)]


def message_bytes(elements, block=128):
    blocks = [min(block, elements - begin) for begin in range(0, elements, block)]
    return sum(4 + 4 * -(-size // 32) for size in blocks)


def sent_by_rank_0(chunk_bytes):
    """All-to-all of the chunks, all-gather of the own one, and two numbers for the agreement on the gradient."""
    return sum(chunk_bytes[1:]) + (ranks - 1) * (chunk_bytes[0] + 16)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "images.toml").write_text(small_data.images_toml(data))
    out = folder / "it's <here>"
    text = program.run(ranks, "--config", folder / "images.toml", "--compare", "adam,onebit_adam", "--run", out)
    expect("\r" not in text and "\x1b" not in text, "control characters in", repr(text))
    table = [line for line in text.splitlines() if "%" in line]
    expect([line.split()[0] for line in table] == ["adam", "onebit_adam"], text)

    dense, compressed = json.loads((out / "comparison.json").read_text())
    expect([dense["optimizer"], compressed["optimizer"]] == ["adam", "onebit_adam"], dense, compressed)
    dense_bytes = sent_by_rank_0([4 * size for size in chunks()])
    few_bytes = sent_by_rank_0([message_bytes(size) for size in chunks()])
    expect(dense["bytes_per_step"] == dense_bytes, dense, dense_bytes)
    expect(dense["dense_bytes_per_step"] == dense_bytes - 16 * (ranks - 1), dense, dense_bytes)
    expect(compressed["bytes_per_step"] == few_bytes, compressed, few_bytes)
    mean = (15 * dense_bytes + 25 * few_bytes) / 40
    expect(abs(compressed["mean_bytes_per_step"] - mean) < 1e-6 * (mean + 1), compressed, mean)
    for run in (dense, compressed):
        expect(run["steps"] == 40 and run["skipped_steps"] == 0 and run["wall_seconds"] > 0, run)
        expect(run["held_out_accuracy"] > 0.9 and run["held_out_loss"] < 0.7, run)
        lines, _ = metrics(out / run["optimizer"])
        expect(lines[-1]["loss"] < 0.5 * lines[0]["loss"], lines[0], lines[-1])
        total = round(40 * run["mean_bytes_per_step"])
        expect(lines[-1]["bytes_sent"] == total, lines[-1], total)
    phases = [line["phase"] for line in metrics(out / "onebit_adam")[0]]
    expect(phases == ["warm-up", "warm-up", "compressed", "compressed", "compressed", "compressed"], phases)

    expect(f"run kadam-report {shlex.quote(str(out))} to make it".replace("'\"'\"'", "'\\''") in text, text)
    # What was asked for, not what the first optimizer made of it.
    expect("[optimizer.onebit_adam]" in (out / "config.toml").read_text(), "the comparison's configuration")
