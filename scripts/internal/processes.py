# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs on this machine, where Linux tells it."""
import os
import pathlib


def started_by(launcher, program):
    """Process numbers of a program that this process has started, directly or not."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(path.parent.name))
    found, queue = [], [launcher]
    while queue:
        of = children.get(queue.pop(), [])
        queue += of
        found += [pid for pid in of if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(program)]
    return sorted(found)
