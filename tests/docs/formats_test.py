# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The configuration that docs/configuration.md shows trains, and docs/file_formats.md reads what comes of it:
formats_test.py ROOT KADAM-TRAIN LAUNCHER..."""
import os
import pathlib
import sys
import tempfile

import numpy
from pages import block_with, root_of, run_code
from program import Program
from small_data import write_images

root, program = root_of(sys.argv[1]), Program(sys.argv[2:])
steps = 4


def run_shown(words):
    page = root / "docs" / "file_formats.md"
    return run_code(block_with(page, words), page)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write_images("data")
    pathlib.Path("config.toml").write_text(block_with(root / "docs" / "configuration.md", 'name = "onebit_adam"'))
    done = program.start(0, "--config", "config.toml", "--run", "runs/a", "--set", "data.path=data",
                         "--set", f"training.steps={steps}", "--set", "training.batch=8")
    if done.returncode != 0:
        sys.exit(f"docs/configuration.md shows what kadam-train refuses: {done.stderr}")
    _, said = run_shown('open("runs/a/metrics.jsonl")')
    if not said.startswith(f"{steps} "):
        sys.exit(f"docs/file_formats.md reads something else from metrics.jsonl: {said}")
    names, _ = run_shown("def read(path):")
    tensors = names["read"]("runs/a/parameters.safetensors")
    if sum(map(len, tensors.values())) == 0 or not all(numpy.isfinite(values).all() for values in tensors.values()):
        sys.exit(f"docs/file_formats.md reads no parameters: {tensors}")
