# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs that measure kernels, such as kadam-bench, in turn."""
import json
import os
import resource
import subprocess
import sys
import time

import load


def kernels_of(command, threads):
    """{kernel: its record} from the JSON lines that a command prints; ends the program if the command fails or prints
    none."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        sys.exit(f"kadam: {' '.join(command)}\nfailed with code {done.returncode}: {last[0]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"kadam: {' '.join(command)}\nprinted no times of kernels; --program needs a kadam-bench")
    return {line["kernel"]: line for line in lines}


def show(text):
    """One line on a terminal, overwritten; silent elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(commands, rounds, threads):
    """Runs the commands, {title: command}, one after the other, in several rounds. Returns a list of rounds,
    {title: {kernel: record}}, and the share of the processors that other programs used meanwhile."""
    results = []
    start, before = time.monotonic(), load.processor_seconds()
    for done in range(rounds):
        results.append({})
        for title, command in commands.items():
            show(f"round {done + 1} of {rounds}: {title}")
            results[-1][title] = kernels_of(command, threads)
    show("")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = used.ru_utime + used.ru_stime
    return results, load.share_of_others(before, load.processor_seconds(), own, time.monotonic() - start)
