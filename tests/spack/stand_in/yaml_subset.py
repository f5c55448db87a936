# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of YAML that spack/ is written in: mappings, lists of words, comments on lines of their own."""


def read(path):
    """Mappings and words; a list lies at the depth of its key."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    result = {}
    open_mappings = [(-1, result)]
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        words = line.strip()
        if words.startswith("- "):
            open_mappings[-1][1].setdefault(key, []).append(words[2:].strip())  # noqa: F821 (set with its key)
            continue
        while open_mappings[-1][0] >= depth:
            open_mappings.pop()
        key, colon, value = words.partition(":")
        if not colon:
            raise ValueError(f"{path}: expected KEY: VALUE, found '{line}'")
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if value.strip():
            open_mappings[-1][1][key] = value.strip()
        elif not following.lstrip().startswith("- "):
            open_mappings.append((depth, open_mappings[-1][1].setdefault(key, {})))
    return result
