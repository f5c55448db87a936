# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Markdown pages of the repository, and what is in them."""
import contextlib
import io
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


def block_with(page, words):
    return next(code for _, code in blocks(page) if words in code)


def anchors(headings):
    """As the site names headings: small letters, hyphens for blanks, nothing for signs, numbers for namesakes."""
    names, result = [], []
    for heading in headings:
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        namesakes = names.count(name)
        names.append(name)
        result.append(f"{name}-{namesakes}" if namesakes else name)
    return result


def run_code(code, page):
    """The names that Python code of a page leaves, and what it prints."""
    names, said = {}, io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, page, "exec"), names)  # noqa: S102
    return names, said.getvalue()


def end(mistakes, checked):
    """All that is wrong is said at once; a test that has looked at nothing fails."""
    if mistakes or checked == 0:
        raise SystemExit("\n".join(mistakes) or "nothing was checked")
    print(f"{checked} checked")


def root_of(argument):
    return pathlib.Path(argument).resolve()
