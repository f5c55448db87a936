# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/troubleshooting.md quotes messages that the code has: messages_test.py ROOT"""
import re
import sys

from pages import end, root_of

root = root_of(sys.argv[1])
ELLIPSIS = "…"


def text_of(file):
    """Strings that follow each other are one, as for the compiler."""
    return re.sub(r'"\s*\n\s*"', "", file.read_text()).replace('\\"', '"')


patterns = [*(f"{folder}/**/*.[ch]pp" for folder in ("src", "drivers", "workloads", "examples")), "scripts/*.sh",
            "scripts/internal/*.sh", "cmake/*.cmake"]
sources = [text_of(file) for pattern in patterns for file in root.glob(pattern)]
page = (root / "docs" / "troubleshooting.md").read_text()
messages = re.findall(r"^\| `([^`]+)` \|", page, re.M)
mistakes = []
for message in messages:
    parts = [part.strip() for part in message.split(ELLIPSIS)]
    if sum(map(len, parts)) < 15:
        mistakes.append(f"too few words to look for: {message}")
    # In this order, with what the code puts between them.
    pattern = re.compile(r".{0,200}?".join(map(re.escape, parts)), re.S)
    candidates = [source for source in sources if all(part in source for part in parts)]
    if not any(pattern.search(source) for source in candidates):
        mistakes.append(f"no source has the message: {message}")
end(mistakes, len(messages))
