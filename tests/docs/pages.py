# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Markdown pages of the repository, and what is in them."""
import pathlib
import re

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.M | re.S)


def pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]


def blocks(page):
    """Language and text of each code block."""
    return FENCE.findall(page.read_text())


def prose(page):
    """What is not in a code block."""
    return FENCE.sub("", page.read_text())


def end(mistakes, checked):
    """All that is wrong is said at once; a test that has looked at nothing fails."""
    if mistakes or checked == 0:
        raise SystemExit("\n".join(mistakes) or "nothing was checked")
    print(f"{checked} checked")


def root_of(argument):
    return pathlib.Path(argument).resolve()
