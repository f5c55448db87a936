# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table, or the output of a command, prints each measured figure in the text of README.md and docs/: figures_test.py ROOT

A figure is backed by the section it stands in, and by pages and sections that its paragraph or the first paragraph of its
section links to; or by the command and the date that its paragraph names; or it is the ratio or the difference of two
figures of the same paragraph that are backed. figures.toml has the others, with a reason each."""
import pathlib
import sys
import tempfile
import tomllib

from figures import Checker
from pages import end, root_of

OTHER = """# Runs
## First
| method | step, ms | held-out loss |
|---|---|---|
| adam | 1909 | 1.8423 |
| muon | 300 | 1.6367 |

## Second
| method | GB/s |
|---|---|
| copy | 57.3 |
"""
PLANTED = """# A page
A step takes 1.91 s and not 300 ms, 6.4 times as long ([runs](other.md#first)); **7.4 times** is none of it.

The loss of [Muon](other.md#first) is 0.206 lower, at 1.64; others are at 1.71, and 0.306 lower.

It copies 57 GB/s ([runs](other.md#first)).

It copies 57 GB/s ([runs](other.md#second)).

## A section
```
adam   12.5 ms
```
It takes 12 to 13 ms, 12 to 14 ms, with 5 ranks, on 10 Mbit/s, `7 ms`, lr = 0.003, Open MPI 4.1.4, a goal of 9 ms.

2026-01-02, `scripts/run.sh --all`: 77 ms. Worked number: 88 ms.
"""
FOUND = {2: ["7.4 times"], 4: ["1.71", "0.306"], 6: ["57 GB/s"], 14: ["14 ms"]}


def found_on(text, strict=False):
    """{line: figures} of what nothing backs on a page beside OTHER."""
    with tempfile.TemporaryDirectory() as name:
        folder, found = pathlib.Path(name).resolve(), {}
        (folder / "other.md").write_text(OTHER, encoding="utf-8")
        (folder / "page.md").write_text(text, encoding="utf-8")
        for figure in Checker(folder).unbacked(folder / "page.md", strict)[1]:
            found.setdefault(figure.line, []).append(figure.number.text)
        return found


# Each planted fault is found, and nothing else.
if found_on(PLANTED) != FOUND:
    raise SystemExit(f"of the planted page this is found: {found_on(PLANTED)}")
if found_on(PLANTED, strict=True)[16] != ["77 ms"]:
    raise SystemExit("a command and a date are enough for a strict page")

root = root_of(sys.argv[1])
known = tomllib.loads(pathlib.Path(__file__).with_name("figures.toml").read_text(encoding="utf-8"))["figure"]
checker, mistakes, checked = Checker(root, known), [], 0
for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    if path.name == "wire_format.md":  # wire_format_test.cpp makes its bytes
        continue
    count, unbacked = checker.unbacked(path, strict=path.name == "README.md")
    checked += count
    mistakes += [f'{path.relative_to(root)}:{figure.line}: {figure.number.text} "{figure.sentence}"' for figure in unbacked]
mistakes += [f"figures.toml: {entry['page']} has no such figure, or something backs it: {text}"
             for entry in known for text in entry["figures"] if text not in entry.get("used", ())]
end(mistakes, checked)
