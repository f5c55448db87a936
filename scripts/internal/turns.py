# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs that measure kernels, such as kadam-bench, in turn."""
import json
import os
import resource
import subprocess
import sys
import time


def kernels_of(command, threads):
    """{kernel: its record} from the JSON lines that a command prints; ends the program if the command fails."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        sys.exit(f"kadam: {' '.join(command)}\nfailed with code {done.returncode}: {last[0]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["kernel"]: line for line in lines}


def processor_seconds():
    """Processor seconds that all programs of this machine have used; None where the system does not tell."""
    try:
        with open("/proc/stat", encoding="utf-8") as lines:
            user, nice, system = (int(word) for word in lines.readline().split()[1:4])
    except OSError:
        return None
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def share_of_others(before, after, own, seconds):
    """The share of the processors' time that other programs used."""
    if before is None or seconds <= 0:
        return 0.0
    return max(0.0, after - before - own) / (seconds * os.cpu_count())


def show(text):
    """One line on a terminal, overwritten; silent elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(commands, rounds, threads):
    """Runs the commands, {title: command}, one after the other, in several rounds. Returns a list of rounds,
    {title: {kernel: record}}, and the share of the processors that other programs used meanwhile."""
    results = []
    start, before = time.monotonic(), processor_seconds()
    for done in range(rounds):
        results.append({})
        for title, command in commands.items():
            show(f"round {done + 1} of {rounds}: {title}")
            results[-1][title] = kernels_of(command, threads)
    show("")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = used.ru_utime + used.ru_stime
    return results, share_of_others(before, processor_seconds(), own, time.monotonic() - start)
