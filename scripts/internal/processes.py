# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of this machine, as Linux lists them."""
import os
import pathlib


def runs(pid, program):
    """Whether a process runs this program; False if it has ended meanwhile."""
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def started_by(launcher, program):
    """Numbers of the processes of `program` that descend from the process `launcher`."""
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
        found += [pid for pid in of if runs(pid, program)]
    return sorted(found)
