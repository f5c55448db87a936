# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-bench growth, run: growth_test.py KADAM_BENCH"""
import json
import sys

from expect import expect
from program import Program
from refusals import refusals

PROGRAM = Program(sys.argv[1:])
KEYS = {"optimizer", "elements", "ranks", "ranks_per_node", "bytes", "planned_bytes", "messages", "planned_messages",
        "longest_message_bytes", "agreement_messages", "agreement_bytes", "held_bytes", "planned_held_bytes",
        "launches", "kernel_seconds", "planned_kernel_bytes"}
SMALL = ["growth", "--elements", "65536", "--steps", "4", "--repetitions", "1"]


def test_every_optimizer():
    lines = [json.loads(line) for line in PROGRAM.run(0, *SMALL, "--ranks", "2,1024", "--json").splitlines()]
    expect([(line["optimizer"], line["ranks"]) for line in lines] ==
           [(name, ranks) for name in PROGRAM.known for ranks in (2, 1024)], lines)
    for line in lines:
        expect(set(line) == KEYS and line["elements"] == 65536 and line["ranks_per_node"] == 1, line)
        expect(line["bytes"] == line["planned_bytes"] > 0 and line["kernel_seconds"] > 0, line)


def test_table_of_two_levels():
    table = PROGRAM.run(0, *SMALL, "--ranks", "16", "--ranks-per-node", "4", "--only", "onebit_adam")
    rows = [line.split() for line in table.splitlines() if line.startswith("onebit_adam")]
    # Shards of 64 KiB to 3 others of the node, in 2 pieces; to 3 other nodes and back; the codes to the node.
    expect("One rank of many" in table and len(rows) == 1 and rows[0][1] == "16", table)
    expect(float(rows[0][4]) == 3 * 2 + 2 * 3 + 3, rows)


test_every_optimizer()
test_table_of_two_levels()
refusals(PROGRAM, [("3 ranks per node do not divide 8 ranks", ["growth", "--ranks", "8", "--ranks-per-node", "3"], 0),
                   ("no optimizer has 'sgd' in its name", ["growth", "--only", "sgd"], 0),
                   ("--ranks", ["growth", "--ranks", "0"], 0)])
