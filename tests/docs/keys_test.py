# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/configuration.md has all keys that kadam-train knows, and no others: keys_test.py ROOT KADAM-TRAIN"""
import re
import subprocess
import sys

from pages import end, root_of

root, program = root_of(sys.argv[1]), sys.argv[2]
text = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=50, check=True).stdout
headings = r"^Keys of the configuration:|^Options of every optimizer.*|^Keys of a parameter group.*"
_, keys, options, groups = re.split(headings, text, flags=re.M)
first_column = r"^  ([a-z][\w.]*)\s"
known = set(re.findall(first_column, keys, re.M)) - {"optimizer.name"}
known |= {f"optimizer.{name}" for name in re.findall(first_column, options, re.M)}
known |= {f"groups.{name}" for name in re.findall(first_column, groups, re.M)}

shown = set()
page = (root / "docs" / "configuration.md").read_text()
for part in re.split(r"^## ", page, flags=re.M)[1:]:
    section = {"Parameter groups": "groups"}.get(part.split("\n")[0], part.split("\n")[0])
    for cell in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", part, re.M):
        shown |= {f"{section}.{name}" for name in re.findall(r"`(\w+)`", cell)}
mistakes = [f"docs/configuration.md lacks {key}" for key in sorted(known - shown)]
mistakes += [f"docs/configuration.md has {key}, which kadam-train does not know" for key in sorted(shown - known)]
end(mistakes, len(known))
