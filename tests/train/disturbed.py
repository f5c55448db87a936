# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs that something happens to, and what they leave."""
import os
import pathlib
import subprocess
import time

from expect import expect

STOPPED = 75  # the exit code of a run that saved and stopped early


def begin(program, ranks, *options):
    """A run that is going to be disturbed."""
    return subprocess.Popen(program.command(ranks, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def steps_in(folder):
    return sorted(int(path.name[5:]) for path in folder.glob("step-*"))


def wait_for(running, condition, what):
    end = time.monotonic() + 40
    while not condition():
        expect(running.poll() is None, "the run ended before", what)
        expect(time.monotonic() < end, "waited in vain for", what)
        time.sleep(0.01)


def ranks_of(program, running):
    """Process numbers of the programs that a launcher has started."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(path.parent.name))
    found, queue = [], [running.pid]
    while queue:
        of = children.get(queue.pop(), [])
        queue += of
        found += [pid for pid in of if os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(program.path)]
    return sorted(found)


def parameters_of(folder):
    """With a header that says nothing of the way there."""
    return (folder / "parameters.safetensors").read_bytes()
