# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Published speed-ups beside kadam-plan's: papers.py KADAM_PLAN [--write | --check].

Prints the table of docs/planning.md; --write puts it there, --check says whether it stands there."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "planning.md"
FOLDER = ROOT / "drivers" / "plan" / "papers"
BEGIN, END = "<!-- papers -->\n", "<!-- /papers -->"
WANTED = 0.25


def rows_of(program, file):
    """The contents of a case's file, and its published speed-ups with the predicted ones."""
    done = subprocess.run([program, "--machine", str(file), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(file.read_text(encoding="utf-8")), json.loads(done.stdout)["published"]


def line(case, row, statement):
    low, high = row["published"]
    said = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    off = f"{row['deviation']:+.0%}" if row["deviation"] else "in the range"
    if abs(row["deviation"]) > WANTED:
        off = f"**{off}: missed**"
    names = f"{row['algorithm']} / {row['over']}, {row['ranks']} GPUs"
    return f"| {case['title']}: {names}; {statement} | {said} | {row['predicted']:.2f} | {off} |"


def table(program):
    text = ["| case | published | predicted | deviation |", "|---|---|---|---|"]
    notes = []
    for file in sorted(FOLDER.glob("*.json")):
        case, rows = rows_of(program, file)
        text += [line(case, row, said["statement"]) for row, said in zip(rows, case["published"], strict=True)]
        notes.append(f"- `{file.name}`: {case['source']}. Assumed: {case['assumed']}.")
    return "\n".join(text + [""] + notes) + "\n"


def main():
    new = table(sys.argv[1])
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    if "--write" in sys.argv:
        PAGE.write_text(before + BEGIN + new + END + after, encoding="utf-8")
    elif "--check" in sys.argv:
        if old != new:
            sys.exit("docs/planning.md has another table than the one that kadam-plan makes now:\n" + new)
    else:
        print(new, end="")


if __name__ == "__main__":
    main()
