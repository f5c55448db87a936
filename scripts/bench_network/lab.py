# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lab that scripts/netlab.sh has made around this program."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


class Lab:
    def __init__(self, netlab, hosts, mpirun_arguments="", can_delay=False, ranks_per_host=1):
        self.netlab, self.hosts, self.mpirun_arguments = str(netlab), hosts, mpirun_arguments
        self.ranks_per_host = ranks_per_host
        self.can_delay = can_delay  # whether its cables can have a delay

    def shape(self, rate):
        """Shapes all cables. rate: as 100mbit, or 100mbit+50ms with a delay."""
        speed, _, delay = rate.partition("+")
        words = ["--rate", speed] + (["--delay", delay or "0ms"] if self.can_delay else [])
        done = subprocess.run([self.netlab, "shape", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())

    def run_command(self, program):
        """The command line that runs a program on all hosts."""
        return [self.netlab, "run", "--ranks-per-host", str(self.ranks_per_host), "--mpirun-args", self.mpirun_arguments,
                "--", *map(str, program)]

    def exec_command(self, host, program):
        """The command line that runs a program on one host."""
        return [self.netlab, "exec", str(host), "--", *map(str, program)]

    def run_each(self, words_of, processes, environment, timeout):
        """Runs words_of(host) on each of the first hosts; returns their exit codes and their outputs."""
        with tempfile.TemporaryDirectory() as name:
            said = [pathlib.Path(name, f"{host}") for host in range(processes)]
            files = [path.open("w+", encoding="utf-8") for path in said]
            started = [subprocess.Popen(self.exec_command(host, words_of(host)), stdin=subprocess.DEVNULL, stdout=file,
                                        stderr=subprocess.STDOUT, env=os.environ | environment)
                       for host, file in enumerate(files)]
            codes = wait_for(started, timeout)
            for file in files:
                file.close()
            return codes, [path.read_text(encoding="utf-8", errors="replace") for path in said]

    def bytes_sent(self):
        """Bytes that the interface of the first host has sent since the lab was started."""
        done = subprocess.run([self.netlab, "bytes"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["hosts"][0]["sent"]


def wait_for(processes, timeout):
    """Waits; returns the exit codes. The first failure, or the timeout, ends all: the others would wait for ever."""
    end = time.monotonic() + timeout
    while any(process.poll() is None for process in processes):
        if any(process.poll() not in (None, 0) for process in processes) or time.monotonic() > end:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        time.sleep(0.05)
    return [process.returncode for process in processes]


def reason_of_first(codes, texts):
    """The reason of the first program that failed by itself, not because it was ended."""
    first = next((k for k, code in enumerate(codes) if code not in (0, -15)), 0)
    return reason(texts[first], codes[first])


def reason(words, code):
    """Why a program failed, in one line: the first telling line of its output."""
    lines = [line.strip() for line in words.splitlines()]
    own = [line for line in lines if line and not line.startswith("---") and "plm:rsh: Warning" not in line]
    telling = [line for line in own if "rror" in line or "kadam" in line or "fail" in line or "what()" in line]
    return f"exit code {code}: {(telling or own or ['no output'])[0][:300]}"
