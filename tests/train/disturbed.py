# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs that something happens to, and what they leave."""
import pathlib
import subprocess
import sys
import time

from expect import expect

sys.path.append(str(pathlib.Path(__file__).parents[2] / "scripts" / "internal"))
from processes import runs, started_by  # noqa: E402

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
    return started_by(running.pid, program.path)


def runs_of_lab(lab, hosts, program):
    """The hosts of scripts/netlab.sh by the process numbers of a program that runs on them."""
    found = {}
    for host in range(hosts):
        said = subprocess.run(["ip", "netns", "pids", f"kadam-{lab}-h{host}"], capture_output=True, text=True, check=False)
        found.update({int(pid): host for pid in said.stdout.split() if runs(pid, program)})
    return found


def parameters_of(folder):
    """With a header that says nothing of the way there."""
    return (folder / "parameters.safetensors").read_bytes()
