# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page has all keys that a program knows, and no others: keys_test.py ROOT PAGE PROGRAM"""
import re
import sys

from pages import end, root_of
from program import Program

root, page, program = root_of(sys.argv[1]), sys.argv[2], Program(sys.argv[3:])
# Headings of --help, and what is not repeated in the keys below them.
HEADINGS = {"Keys of the configuration": "", "Options of every optimizer": "optimizer.",
            "Options and defaults of ": "optimizer.", "Keys of a parameter group": "groups."}

known, prefix = set(), None
for line in program.run(0, "--help").splitlines():
    if line[:1].strip():
        prefix = next((of for heading, of in HEADINGS.items() if line.startswith(heading)), None)
    key = re.match(r"  ([a-z][a-z0-9_.]*)\s", line)
    if key and prefix is not None:
        known.add(prefix + key[1])
known.discard("optimizer.name")

shown = set()
for part in re.split(r"^## ", (root / page).read_text(), flags=re.M)[1:]:
    heading = part.partition("\n")[0]
    section = {"Parameter groups": "groups"}.get(heading, heading)
    for rows in re.findall(r"^\| key \|.*\n((?:\|.*\n)+)", part, re.M):
        for cell in re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \|", rows, re.M):
            shown |= {name if "." in name else f"{section}.{name}" for name in re.findall(r"`([\w.]+)`", cell)}
mistakes = [f"{page} lacks {key}" for key in sorted(known - shown)]
mistakes += [f"{page} has {key}, which the program does not know" for key in sorted(shown - known)]
end(mistakes, len(known))
