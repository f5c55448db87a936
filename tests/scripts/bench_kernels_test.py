# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of scripts/bench_kernels.sh, with stand-ins for the programs: bench_kernels_test.py FOLDER_OF_SCRIPTS"""
import pathlib
import subprocess
import sys
import tempfile

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])

# Prints its milliseconds times the number of its runs so far; notes what it was asked.
STAND_IN = """#!/usr/bin/env python3
import json, os, pathlib, sys
asked = pathlib.Path(sys.argv[0] + ".asked")
runs = pathlib.Path(sys.argv[0] + ".runs")
asked.write_text(" ".join(sys.argv[1:]) + " on " + os.environ["OMP_NUM_THREADS"])
runs.write_text((runs.read_text() if runs.exists() else "") + "x")
for name, (milliseconds, moved, ratio) in KERNELS.items():
    compared = {"compared_with": "adam_update"} if name.startswith("lamb") else {}
    print(json.dumps({"kernel": name, "milliseconds": milliseconds * len(runs.read_text()), "elements": 1000000,
                      "bytes_per_element": moved, "ratio_to_limit": ratio} | compared))
"""


def program(path, kernels):
    path.write_text(STAND_IN.replace("KERNELS", repr(kernels)))
    path.chmod(0o755)
    return path


def call(*arguments):
    return subprocess.run([SCRIPTS / "bench_kernels.sh", *arguments], capture_output=True, text=True, check=False)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    limits = {"limit: in-place scale": (2.0, 8.0, 1.0), "limit: sum": (1.0, 4.0, 1.0)}
    new = program(folder / "new", limits | {"adam_update": (8.0, 28.0, 0.875), "lamb_update": (12.0, 40.0, 0.8),
                                            "lamb_apply": (16.0, 12.0, 0.5),
                                            "adam step, d = 10000, 1 rank": (0.004, 0.0, None)})
    old = program(folder / "old", limits | {"adam_update": (9.0, 28.0, 0.75)})
    done = call("--elements", "1000000", "--threads", "2", "--rounds", "3", "--only", "adam_update",
                "--program", f"new={new}", "--program", f"old={old}")
    expect(done.returncode == 0 and done.stderr == "", done)
    table = " ".join(done.stdout.split())
    for wanted in ("2 threads, d = 1,000,000, medians of 3 rounds",
                   "In-place scale, new: 1 to 4 GB/s; old: 1 to 4 GB/s.",
                   "| kernel | B/element | new: ms | to limit | old: ms | to limit |",
                   "| adam_update | 28.00 | 16 | 0.88 | 18 | 0.75 |",
                   "| lamb_update | 40.00 | 24 | 0.80 | - | - |",
                   "| adam step, d = 10000, 1 rank | - | 0.008 | - | - | - |",
                   "| lamb_update / adam_update | 1.50 | - | at most 1.5 | | lamb_apply / adam_update | 2.00 | - | |"):
        expect(wanted in table, wanted, "is missing in", done.stdout)
    expect("top-k" not in table, "a goal whose kernels were not measured has a row", done.stdout)
    asked = (folder / "new.asked").read_text()
    expect(asked == "kernels --elements 1000000 --threads 2 --json --only adam_update on 2", asked)

    new.write_text("#!/bin/sh\necho 'kadam-bench: not enough memory' >&2\nexit 3\n")
    done = call("--program", f"new={new}")
    expect(done.returncode == 1 and "code 3: kadam-bench: not enough memory" in done.stderr, done)
    done = call("--program", "new=/bin/true")
    expect(done.returncode == 1 and "no times of kernels; --program needs a kadam-bench" in done.stderr, done)

for wrong in (["--rounds", "0"], ["--elements"], ["--program", "/bin/sh"], ["--program", "new=/nowhere"], ["--speed"]):
    done = call(*wrong)
    expect(done.returncode == 1 and done.stderr.count("\n") == 1 and done.stdout == "", wrong, done)
