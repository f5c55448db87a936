# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of PyTorch on the hosts of the lab."""
import json
import pathlib
import statistics

from lab import reason_of_first
from studies import SETTLE, median_round

MASTER = "198.18.0.1:29500"
PROGRAM = pathlib.Path(__file__).with_name("peer_train.py")
ENVIRONMENT = {"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def command(python, workload, peer, hosts, steps, data):
    """The command line of a peer, without its rank."""
    processes = peer.processes or hosts
    words = [python, PROGRAM, "--config", workload.config, "--exchange", peer.exchange, "--hosts", processes,
             "--master", MASTER, "--settle", SETTLE, "--steps", steps]
    if data and workload.name == "transformer":
        words += ["--data", data]
    return [str(word) for word in words]


def timing_of(line):
    return {"step_seconds": statistics.fmean(median_round(line["step_seconds_each"], float)), **line}


def run(lab, words, processes, timeout):
    """Runs the peer; returns its timing, or {"failed": reason}."""
    codes, texts = lab.run_each(lambda rank: [*words, "--rank", str(rank)], processes, ENVIRONMENT, timeout)
    lines = [line for line in texts[0].splitlines() if line.startswith('{"step_seconds_each"')]
    if any(codes) or not lines:
        return {"failed": reason_of_first(codes, texts)}
    return timing_of(json.loads(lines[0]))
