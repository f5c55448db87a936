# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of PyTorch on the hosts of the lab."""
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from lab import reason
from studies import SETTLE, median_round

MASTER = "198.18.0.1:29500"
PROGRAM = pathlib.Path(__file__).with_name("peer_train.py")


def command(python, workload, peer, hosts, steps, data):
    """Without the rank."""
    processes = peer.processes or hosts
    words = [python, PROGRAM, "--config", workload.config, "--exchange", peer.exchange, "--hosts", processes,
             "--master", MASTER, "--settle", SETTLE, "--steps", steps]
    if data and workload.name == "transformer":
        words += ["--data", data]
    return [str(word) for word in words]


def environment():
    return os.environ | {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def wait_for(processes, timeout):
    """The exit codes. The first that fails, or the end of the time, ends them all: the others would wait for ever."""
    end = time.monotonic() + timeout
    while any(process.poll() is None for process in processes):
        if any(process.poll() not in (None, 0) for process in processes) or time.monotonic() > end:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        time.sleep(0.05)
    return [process.returncode for process in processes]


def timing_of(line):
    return {"step_seconds": statistics.fmean(median_round(line["step_seconds_each"], float)), **line}


def run(lab, words, processes, timeout):
    """Its timing, or {"failed": why}."""
    with tempfile.TemporaryDirectory() as name:
        said = [pathlib.Path(name, f"{rank}") for rank in range(processes)]
        files = [path.open("w+", encoding="utf-8") for path in said]
        started = [subprocess.Popen(lab.exec_command(rank, [*words, "--rank", str(rank)]), stdin=subprocess.DEVNULL,
                                    stdout=file, stderr=subprocess.STDOUT, env=environment())
                   for rank, file in enumerate(files)]
        codes = wait_for(started, timeout)
        for file in files:
            file.close()
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in said]
    lines = [line for line in texts[0].splitlines() if line.startswith('{"step_seconds_each"')]
    if any(codes) or not lines:
        # Those that were ended did not fail first.
        first = next((k for k, code in enumerate(codes) if code not in (0, -15)), 0)
        return {"failed": reason(texts[first], codes[first])}
    return timing_of(json.loads(lines[0]))
