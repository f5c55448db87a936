# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One optimizer on images and on text, and every file of the run: run_test.py RANKS KADAM_TRAIN LAUNCHER..."""
import pathlib
import sys
import tempfile

import numpy as np

import small_data
from expect import expect
from program import Program, metrics, parameters

FIELDS = ["step", "seconds", "loss", "learning_rate", "phase", "gradient_norm", "gradient_scale", "bytes_per_step"]
FIELDS += ["bytes_sent", "compute_seconds", "encode_seconds", "exchange_seconds", "decode_seconds", "rest_seconds"]
FIELDS += ["wait_seconds", "inactive_elements", "skipped_steps"]

ranks, program = int(sys.argv[1]), Program(sys.argv[2:])


def check_metrics(folder, steps, log_every, evaluations):
    lines, held_out = metrics(folder)
    expected = sorted({*range(log_every, steps + 1, log_every), steps})
    expect([l["step"] for l in lines] == expected, "steps", [l["step"] for l in lines])
    expect([l["step"] for l in held_out] == evaluations, "evaluations", held_out)
    for line in lines:
        expect(list(line) == FIELDS, "fields", list(line))
        expect(line["skipped_steps"] == 0 and line["gradient_norm"] > 0 and line["gradient_scale"] == 1, line)
        expect(line["bytes_per_step"] > 0 or ranks == 1, line)
        expect(line["compute_seconds"] > 0, line)
    expect(lines[-1]["loss"] < 0.7 * lines[0]["loss"], "the loss has not fallen:", lines[0], lines[-1])
    return held_out[-1]


def check_output(text):
    expect("\r" not in text and "\x1b" not in text, "control characters in", repr(text))
    shown = [line for line in text.splitlines() if line.startswith("adam ") and " step " in line]
    expect(0 < len(shown) <= 10, "lines of progress:", shown)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "images.toml").write_text(small_data.images_toml(data))
    text = program.run(ranks, "--config", folder / "images.toml", "--run", folder / "a")
    check_output(text)
    # Tests of training have no Python for the page: tests/report.
    expect(text.splitlines()[-1].startswith(f"Report:  run kadam-report {folder / 'a'} to make it"), text)
    final = check_metrics(folder / "a", 40, 7, [20, 40])
    expect(final["held_out_predictions"] == 64 and final["held_out_accuracy"] > 0.9, final)
    tensors = parameters(folder / "a")
    expect({k: v.size for k, v in tensors.items()} == small_data.IMAGE_TENSORS, {k: v.size for k, v in tensors.items()})
    expect(all(np.isfinite(v).all() for v in tensors.values()), "parameters that are not finite")
    written = sorted(path.name for path in (folder / "a").iterdir())
    expected = ["config.toml", "metrics.jsonl", "parameters.safetensors", "run.json"]
    expect(written == expected, written)

    small_data.write_text(folder / "words.txt")
    (folder / "text.toml").write_text(small_data.text_toml(folder / "words.txt"))
    check_output(program.run(ranks, "--config", folder / "text.toml", "--run", folder / "b"))
    final = check_metrics(folder / "b", 30, 10, [30])
    expect(final["held_out_loss"] < 4, final)
    tensors = parameters(folder / "b")
    expect(tensors["token_embedding.weight"].size == 256 * 16, sorted(tensors))
    expect(sum(v.size for v in tensors.values()) == 272 * 16 + 12 * 256 + 13 * 16 + 32 + 256 * 17, "elements")

    for gradients in "bf16", "fp16":
        check_output(program.run(ranks, "--config", folder / "images.toml", "--run", folder / gradients, "--set",
                                 f"optimizer.gradients={gradients}"))
        final = check_metrics(folder / gradients, 40, 7, [20, 40])
        expect(final["held_out_accuracy"] > 0.9, final)
        (whole, _), (half, _) = metrics(folder / "a"), metrics(folder / gradients)
        control = 16 * (ranks - 1)
        expect(half[0]["bytes_per_step"] - control == (whole[0]["bytes_per_step"] - control) / 2, whole[0], half[0])
