# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kadam-train for many small steps and watches what its ranks hold; called by scripts/soak.sh."""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from optimizers import algorithms_of, optimizers, phases_toml  # noqa: E402
from processes import started_by  # noqa: E402

# Allocators keep memory: a rank may still grow by this after the first tenth of the steps.
GROWTH_BYTES = 2 << 20
SAMPLE_SECONDS = 0.2


def configuration(folder, steps, known):
    words = ["a dog", "the cat", "one bird", "sees", "likes", "hears", "the sea.", "a hill.", "the wind."]
    chosen = random.Random(7)
    (folder / "words.txt").write_text(" ".join(chosen.choice(words) for _ in range(4000)), encoding="utf-8")
    (folder / "soak.toml").write_text(f"""[data]
kind = "text"
path = "{folder / 'words.txt'}"
context = 4
[model]
kind = "transformer"
width = 8
depth = 1
heads = 1
[training]
steps = {steps}
batch = 1
log_every = {max(1, steps // 10)}
held_out_examples = 2
[optimizer]
lr = 1e-4
{phases_toml(known, max(1, steps // 20))}""", encoding="utf-8")
    return folder / "soak.toml"


def held_by(pid):
    """(bytes of a process' own memory, number of open files); None if it has ended."""
    try:
        words = pathlib.Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    # Without shared pages, through which messages between ranks of one machine travel.
    return (int(words[1]) - int(words[2])) * os.sysconf("SC_PAGESIZE"), files


def watch(running, program):
    """Samples the processes of a program under `running` until it ends; returns {pid: [held_by(pid)]}."""
    samples = {}
    while running.poll() is None:
        for pid in started_by(running.pid, program):
            held = held_by(pid)
            if held is not None:
                samples.setdefault(pid, []).append(held)
        time.sleep(SAMPLE_SECONDS)
    return samples


def verdict(samples):
    """None, or a text that says what has grown."""
    for pid, held in samples.items():
        # The last samples may be of a process that is ending.
        settled = held[max(1, len(held) // 10):-2]
        if len(settled) < 10:
            return f"process {pid} was seen only {len(settled)} times: give more --steps"
        early, late = settled[:len(settled) // 3], settled[-(len(settled) // 3):]
        memory = min(m for m, _ in late) - max(m for m, _ in early)
        if memory > GROWTH_BYTES:
            return f"process {pid} has gained {memory / 2**20:.1f} MB"
        files = min(f for _, f in late) - max(f for _, f in early)
        if files > 0:
            return f"process {pid} has gained {files} open files"
    return None if samples else "no process was seen"


def soak(arguments, folder, algorithm):
    command = ["mpirun", "-n", str(arguments.ranks), arguments.program, "--config", folder / "soak.toml", "--compare",
               algorithm, "--run", folder / f"run-{algorithm}", "--checkpoint", folder / "saved",
               "--checkpoint-every", str(max(1, min(1000, arguments.steps // 10)))]
    start = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as running:
        samples = watch(running, arguments.program)
        errors = running.stderr.read()
    grown = verdict(samples) if running.returncode == 0 else f"exit code {running.returncode}: {errors.strip()[-500:]}"
    memory = max((held[-3][0] for held in samples.values() if len(held) > 2), default=0)
    files = max((held[-3][1] for held in samples.values() if len(held) > 2), default=0)
    print(f"{algorithm:<26} {arguments.steps} steps  {time.monotonic() - start:6.1f} s  {memory / 2**20:6.1f} MB  "
          f"{files} files  {grown or 'flat'}", flush=True)
    return grown is None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--algorithms", default="all")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        known = optimizers(arguments.program)
        configuration(folder, arguments.steps, known)
        algorithms = algorithms_of(arguments.algorithms, known)
        flat = [soak(arguments, folder, algorithm) for algorithm in algorithms]
    sys.exit(0 if all(flat) else 1)


if __name__ == "__main__":
    main()
