# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run, the same run again and the run of its config.toml: bitwise one. reproduction_test.py KADAM_TRAIN LAUNCHER..."""
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
    groups = '\n[[optimizer.groups]]\ntensors = "*.bias"\nlr_scale = 0.3\nweight_decay = 0.1\ndense = true\n'
    (folder / "images.toml").write_text(small_data.images_toml(data) + groups)
    options = ["--set", "optimizer.name=onebit_adam", "--set", "optimizer.lr=0.0123456789"]
    options += ["--set", "optimizer.clip_norm=0.7"]
    program.run(2, "--config", folder / "images.toml", *options, "--run", folder / "first")
    program.run(2, "--config", folder / "images.toml", *options, "--run", folder / "again")
    program.run(2, "--config", folder / "first" / "config.toml", "--run", folder / "copy")
    program.run(2, "--config", folder / "first" / "config.toml", "--set", "training.seed=2", "--run", folder / "other")
    bits = {run: (folder / run / "parameters.safetensors").read_bytes() for run in ("first", "again", "copy", "other")}
    expect(bits["first"] == bits["again"], "the same run again has other parameters")
    expect(bits["first"] == bits["copy"], "config.toml does not make the same run")
    expect(bits["first"] != bits["other"], "another seed has the same parameters")
    expect((folder / "first/config.toml").read_text() == (folder / "copy/config.toml").read_text(), "config.toml")
    losses = {run: [line["loss"] for line in metrics(folder / run)[0]] for run in ("first", "copy")}
    expect(losses["first"] == losses["copy"], losses)
    expect(any(line["gradient_scale"] < 1 for line in metrics(folder / "first")[0]), "nothing was clipped")
