# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replays a golden case on its number of ranks and compares: golden_test.py CASE_FOLDER REPLAY LAUNCHER...

LAUNCHER is the command up to the number of ranks, as in: mpirun -n
"""
import json
import pathlib
import subprocess
import sys
import tempfile

case = pathlib.Path(sys.argv[1])
replay, launcher = sys.argv[2], sys.argv[3:]
ranks = json.loads((case / "case.json").read_text())["ranks"]
with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / "out.npy"
    subprocess.run([*launcher, str(ranks), replay, "--case", str(case), "--out", str(out)], check=True)
    compare = case.parent / "compare.py"
    sys.exit(subprocess.run([sys.executable, str(compare), str(case), str(out)]).returncode)
