# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where runs live whose ranks fail, and where others take their places."""
import os
import re
import signal
import subprocess
import sys

from disturbed import ranks_of, runs_of_lab
from expect import expect
from program import Program

SKIPPED = 77


def surviving_launcher(program):
    """What Open MPI's mpirun wants to be told."""
    version = subprocess.run([program.launcher[0], "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)|Open MPI v?(\d+)", version)
    if not found:
        print("skipped: the launcher is not Open MPI's; of others nothing is known about ranks that die")
        sys.exit(SKIPPED)
    return ["--with-ft", "ulfm"] if int(found[1] or found[2]) >= 5 else ["--enable-recovery"]


class Here:
    """All ranks on this host."""

    # Those that are not killed are waited for, some seconds each.
    kinds = ("killed",) * 18 + ("stopped",)

    def __init__(self, program, ranks):
        self.program, self.size = program, ranks
        self.newcomers = []
        self.survivor = Program([program.path, program.launcher[0], *surviving_launcher(program), *program.launcher[1:]])

    def command(self, *options):
        return self.survivor.command(self.size, *options)

    def ranks(self, running):
        """Process numbers of those who live."""
        return [*ranks_of(self.program, running), *(one.pid for one in self.newcomers if one.poll() is None)]

    def come(self, gone, log, *options):
        """Starts a rank of its own, in the place of one that is gone."""
        del gone
        self.start(self.program.command(0, *options, "--join"), log)

    def start(self, command, log):
        with log.open("a", encoding="utf-8") as file:
            self.newcomers.append(subprocess.Popen(command, stdout=file, stderr=file))

    def end_newcomers(self):
        for one in self.newcomers:
            one.kill()
            one.wait()
        self.newcomers.clear()

    def may_fail(self, kind, ranks):
        """Those of the ranks that this may happen to."""
        return ranks

    def all_with(self, pid):
        """The ranks that fail together with this one."""
        return [pid]

    def fail(self, kind, pids):
        for pid in pids:
            os.kill(pid, signal.SIGKILL if kind == "killed" else signal.SIGSTOP)

    def end(self, kind, pids):
        """Once the others have gone on."""
        if kind == "stopped":
            for pid in pids:
                os.kill(pid, signal.SIGKILL)

    def close(self):
        pass


class Lab(Here):
    """So many ranks on each host, which fails with all of them."""

    kinds = ("killed",) * 18 + ("stopped", "cut off")

    def __init__(self, program, ranks, netlab, ranks_per_host):
        super().__init__(program, ranks)
        self.netlab, self.name, self.hosts = netlab, f"death{os.getpid()}"[:16], {}
        self.ranks_per_host = ranks_per_host
        up = self.call("up", "--hosts", ranks // ranks_per_host, check=False)
        if up.returncode == SKIPPED:
            print(up.stderr.strip())
            sys.exit(SKIPPED)
        expect(up.returncode == 0, up.stderr)

    def call(self, command, *words, check=True):
        return subprocess.run([self.netlab, command, "--name", self.name, *map(str, words)], capture_output=True,
                              text=True, timeout=60, check=check)

    def command(self, *options):
        words = [self.netlab, "run", "--name", self.name, "--ranks-per-host", self.ranks_per_host, "--mpirun-args",
                 " ".join(surviving_launcher(self.program)), "--", self.program.path]
        return [*map(str, words), *map(str, options)]

    def ranks(self, running):
        living = runs_of_lab(self.name, self.size // self.ranks_per_host, self.program.path)
        self.hosts |= living
        return sorted(living)

    def all_with(self, pid):
        return [one for one in self.ranks(None) if self.hosts[one] == self.hosts[pid]]

    def come(self, gone, log, *options):
        command = [self.netlab, "exec", "--name", self.name, self.hosts[gone], "--", self.program.path, *options, "--join"]
        self.start([*map(str, command)], log)

    def may_fail(self, kind, ranks):
        # From the first host the launcher says what happens.
        return [pid for pid in ranks if self.hosts[pid] > 0 or kind != "cut off"]

    def fail(self, kind, pids):
        if kind == "cut off":
            self.call("exec", self.hosts[pids[0]], "--", "ip", "link", "set", "eth0", "down")
        else:
            super().fail(kind, pids)

    def end(self, kind, pids):
        if kind == "cut off":
            self.call("exec", self.hosts[pids[0]], "--", "ip", "link", "set", "eth0", "up")
        else:
            super().end(kind, pids)

    def close(self):
        self.call("down")
