# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/insitu.md shows regions of code that is compiled, and lists all keys: documentation_test.py ROOT"""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(sys.argv[1])
page = (root / "docs" / "insitu.md").read_text()
shown = re.findall(r"```cpp\n(.*?)```", page, re.S)
for file, region in (("process_grid.cpp", "communicators"), ("online_training.cpp", "step")):
    code = (root / "drivers" / "insitu" / file).read_text().split(f"// [{region}]\n")[1]
    code = textwrap.dedent(code.rstrip(" ")).rstrip() + "\n"
    if not any(code in block for block in shown):
        sys.exit(f"docs/insitu.md does not show the region [{region}] of drivers/insitu/{file}:\n{code}")
for file in "gray_scott_options.cpp", "surrogate.cpp", "settings.cpp":
    for section, key in re.findall(r'fields\.add\("(\w+)\.(\w+)"', (root / "drivers" / "insitu" / file).read_text()):
        if f"`{section}.{key}`" not in page:
            sys.exit(f"docs/insitu.md does not list {section}.{key}")
