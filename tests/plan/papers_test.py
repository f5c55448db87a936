# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of docs/planning.md is what kadam-plan makes, and holds what it promises: papers_test.py ROOT KADAM_PLAN"""
import pathlib
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
script = root / "scripts" / "check_plan" / "papers.py"
done = subprocess.run([sys.executable, str(script), program, "--check"], capture_output=True, text=True, check=False,
                      timeout=60)
if done.returncode != 0:
    sys.exit(done.stderr)

page = (root / "docs" / "planning.md").read_text(encoding="utf-8")
table = page.split("<!-- papers -->")[1].split("<!-- /papers -->")[0]
rows = [line for line in table.splitlines() if line.startswith("| BERT") or line.startswith("| SQuAD")]
missed = [line for line in rows if "missed" in line]
if len(rows) < 9 or len(missed) > 1:
    sys.exit(f"{len(rows)} rows, missed: {missed}")
