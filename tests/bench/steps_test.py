# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-bench steps, run: steps_test.py KADAM_BENCH LAUNCHER..."""
import json
import sys

from expect import expect
from program import Program
from refusals import refusals

PROGRAM = Program(sys.argv[1:])
KEYS = {"optimizer", "elements", "tensors", "ranks", "milliseconds", "spread", "launches", "copies", "fences",
        "bytes_sent", "needed_memory_bytes", "peak_memory_bytes"}


def test_every_optimizer():
    said = PROGRAM.run(2, "steps", "--elements", "20000", "--tensors", "1,20", "--repetitions", "1", "--seconds", "9",
                       "--json")
    lines = [json.loads(line) for line in said.splitlines()]
    expect([(line["tensors"], line["optimizer"]) for line in lines] ==
           [(tensors, name) for tensors in (1, 20) for name in PROGRAM.known], lines)
    for line in lines:
        expect(set(line) == KEYS and line["elements"] == 20000 and line["ranks"] == 2, line)
        expect(line["milliseconds"] > 0 and line["launches"] >= 1 and line["fences"] >= 1, line)
        expect(line["needed_memory_bytes"] >= 16 * 20000 and line["peak_memory_bytes"] > line["needed_memory_bytes"], line)
        expect(line["optimizer"] != "adam" or line["bytes_sent"] == 4 * 20000, "a mean of float32 in chunks", line)


def test_table():
    table = PROGRAM.run(0, "steps", "--elements", "100", "--tensors", "3", "--repetitions", "1", "--only", "zero_one")
    rows = [line for line in table.splitlines() if line.startswith("zero_one_adam")]
    expect("for each rank; zero_one_adam needs 3.2 kB\n" in table, table)
    expect("1 rank" in table and len(rows) == 1 and rows[0].split()[1:3] == ["100", "3"], table)


def test_rows():
    """Products of matrices are kernels, which vectors do not need."""
    launches = [json.loads(PROGRAM.run(0, "steps", "--elements", "4096", "--tensors", "1", "--rows", rows, "--repetitions", "1",
                                       "--only", "local_muon", "--json"))["launches"] for rows in ("0", "64")]
    expect(launches[1] > launches[0] + 10, launches)


def test_leaves_out_what_does_not_fit():
    """2^33 elements with 60 GB of gradient and parameters, if this machine has less."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    if available * 1024 > 2**36:
        return
    table = PROGRAM.run(0, "steps", "--elements", str(2**33), "--tensors", "1", "--only", "onebit_adam")
    expect("onebit_adam needs" in table and "and is left out" in table and table.rstrip().endswith("GB peak"), table)


test_every_optimizer()
test_table()
test_rows()
test_leaves_out_what_does_not_fit()
refusals(PROGRAM, [("101 tensors need 101 elements or more", ["steps", "--elements", "100", "--tensors", "101"], 2),
                   ("cannot be matrices of 30 rows: give a multiple, or 2 tensors",
                    ["steps", "--elements", "100", "--tensors", "1", "--rows", "30"], 0),
                   ("no optimizer has 'sgd' in its name", ["steps", "--only", "sgd"], 0),
                   ("--tensors", ["steps", "--tensors", "0"], 0)])
