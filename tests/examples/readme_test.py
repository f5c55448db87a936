# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program in the README is the one that is compiled and run, and the files that the README names exist."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
region = (root / "examples" / "minimal.cpp").read_text().split("// [readme]\n")[1]
shown = re.findall(r"```cpp\n(.*?)```", readme, re.S)
if region not in shown:
    sys.exit("README.md does not show the marked region of examples/minimal.cpp")
for page in [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        if not (page.parent / target).exists():
            sys.exit(f"{page.name} links to {target}, which does not exist")
