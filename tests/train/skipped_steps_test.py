# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run whose gradients become NaN says so and stays readable: skipped_steps_test.py KADAM_TRAIN LAUNCHER..."""
import json
import pathlib
import sys
import tempfile

import small_data
from expect import expect
from program import Program, metrics

program = Program(sys.argv[1:])

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "images.toml").write_text(small_data.images_toml(data))
    # Three good steps, then one that throws the parameters so far that no gradient is finite.
    rates = [0.01] * 3 + [1e30] + [0.01] * 36
    options = ["--set", f"optimizer.lr={rates}", "--compare", "onebit_adam", "--set", "training.log_every=5"]
    options += ["--set", "optimizer.onebit_adam.warmup_steps=2"]
    text = program.run(2, "--config", folder / "images.toml", *options, "--run", folder / "a")
    expect("onebit_adam: 36 of 40 steps were skipped" in text, text)
    lines, held_out = metrics(folder / "a" / "onebit_adam")
    expect(lines[0]["loss"] > 0 and lines[0]["skipped_steps"] == 1, lines[0])
    for line in lines[1:]:
        expect(line["loss"] is None and line["gradient_norm"] is None and line["learning_rate"] == 0.01, line)
        # The phase is that of the last step taken, and a skipped step sends nothing but the agreement.
        expect(line["phase"] == "compressed" and line["bytes_per_step"] == 0, line)
    expect(lines[-1]["bytes_sent"] - lines[-2]["bytes_sent"] == 5 * 16, lines[-2:])
    expect(held_out[-1]["held_out_loss"] is None, held_out)
    (summary,) = json.loads((folder / "a" / "comparison.json").read_text())
    expect(summary["training_loss"] is None and summary["skipped_steps"] == 36, summary)
    expect(0 < summary["bytes_per_step"] < 0.2 * summary["dense_bytes_per_step"], summary)
