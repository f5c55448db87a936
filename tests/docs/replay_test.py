# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The comparison that docs/replay.md shows, of a golden case: replay_test.py ROOT KADAM-REPLAY LAUNCHER..."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from pages import blocks, root_of

root, (program, *launcher) = root_of(sys.argv[1]), sys.argv[2:]
golden = root / "tests" / "golden" / "onebit_adam_a"
code = next(code for _, code in blocks(root / "docs" / "replay.md") if 'numpy.load("case/parameters.npy")' in code)

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    shutil.copytree(golden, "case")
    case = json.loads((golden / "case.json").read_text())
    compressed = case["options"]
    for algorithm, options in ("adam", {"lr": compressed["lr"]}), ("onebit_adam", compressed):
        pathlib.Path("case/case.json").write_text(json.dumps({**case, "algorithm": algorithm, "options": options}))
        subprocess.run([*launcher, str(case["ranks"]), program, "--case", "case", "--out", f"{algorithm}.npy"],
                       check=True, timeout=50, stdout=subprocess.DEVNULL)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "docs/replay.md", "exec"), {})  # noqa: S102

rows = [line.split() for line in said.getvalue().splitlines()]
if [int(step) for step, _ in rows] != list(range(1, case["steps"] + 1)):
    sys.exit(f"docs/replay.md prints no line per step: {rows}")
distances = [float(distance) for _, distance in rows]
# The same in the warm-up, something else afterwards; random gradients say nothing of how far from it.
warmup = compressed["warmup_steps"]
if max(distances[:warmup]) > 1e-6 or not all(0 < distance < 100 for distance in distances[warmup:]):
    sys.exit(f"warm-up {warmup}, distances {distances}")
