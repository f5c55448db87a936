# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The configuration that docs/configuration.md shows trains, and docs/file_formats.md reads what comes of it:
formats_test.py ROOT KADAM-TRAIN LAUNCHER..."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from pages import blocks, root_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "train"))
from small_data import write_images  # noqa: E402

root, program = root_of(sys.argv[1]), sys.argv[2]
steps = 4


def shown(page, words):
    return next(code for _, code in blocks(root / "docs" / page) if words in code)


def run(code, **names):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "page", "exec"), names)  # noqa: S102
    return names, said.getvalue()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write_images("data")
    pathlib.Path("config.toml").write_text(shown("configuration.md", 'name = "onebit_adam"'))
    done = subprocess.run([program, "--config", "config.toml", "--run", "runs/a", "--set", "data.path=data",
                           "--set", f"training.steps={steps}", "--set", "training.batch=8"],
                          capture_output=True, text=True, timeout=50, check=False)
    if done.returncode != 0:
        sys.exit(f"docs/configuration.md shows what kadam-train refuses: {done.stderr}")
    _, said = run(shown("file_formats.md", 'open("runs/a/metrics.jsonl")'))
    if not said.startswith(f"{steps} "):
        sys.exit(f"docs/file_formats.md reads something else from metrics.jsonl: {said}")
    names, _ = run(shown("file_formats.md", "def read(path):"))
    tensors = names["read"]("runs/a/parameters.safetensors")
    if sum(map(len, tensors.values())) == 0 or not all(numpy.isfinite(values).all() for values in tensors.values()):
        sys.exit(f"docs/file_formats.md reads no parameters: {tensors}")
