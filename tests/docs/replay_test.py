# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The comparison that docs/replay.md shows, of a golden case: replay_test.py ROOT KADAM-REPLAY LAUNCHER..."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

from pages import block_with, root_of, run_code
from program import Program

root, program = root_of(sys.argv[1]), Program(sys.argv[2:])
golden = root / "tests" / "golden" / "onebit_adam_a"
page = root / "docs" / "replay.md"
code = block_with(page, 'numpy.load("recording/parameters.npy")')

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    shutil.copytree(golden, "recording")
    case = json.loads((golden / "case.json").read_text())
    compressed = case["options"]
    for algorithm, options in ("adam", {"lr": compressed["lr"]}), ("onebit_adam", compressed):
        pathlib.Path("recording/case.json").write_text(json.dumps({**case, "algorithm": algorithm, "options": options}))
        program.run(case["ranks"], "--case", "recording", "--out", f"{algorithm}.npy")
    _, said = run_code(code, page)

rows = [line.split() for line in said.splitlines()]
if [int(step) for step, _ in rows] != list(range(1, case["steps"] + 1)):
    sys.exit(f"docs/replay.md prints no line per step: {rows}")
distances = [float(distance) for _, distance in rows]
# The same in the warm-up, something else afterwards; random gradients say nothing of how far from it.
warmup = compressed["warmup_steps"]
if max(distances[:warmup]) > 1e-6 or not all(0 < distance < 100 for distance in distances[warmup:]):
    sys.exit(f"warm-up {warmup}, distances {distances}")
