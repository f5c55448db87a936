# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-bench kernels, run: kernels_test.py KADAM_BENCH"""
import json
import re
import sys

from expect import expect
from program import Program

program = Program(sys.argv[1:], timeout=100)

# Sizes that are no multiple of a block, a tile or a word.
done = program.start(0, "kernels", "--elements", "70001", "--repetitions", "2", "--json")
expect(done.returncode == 0 and done.stderr == "", done)
lines = [json.loads(line) for line in done.stdout.splitlines()]
names = [line["kernel"] for line in lines]
expect(len(set(names)) == len(names), "a kernel is measured twice", names)
for wanted in ("limit: in-place scale", "limit: sum", "adam_update", "lamb_update", "encode sign, momentum fused",
               "reduce sign of 64", "decode uniform8, update fused", "onebit_adam step, n = 4",
               "onebit_lamb_ratios", "encode uniform4, moving average", "decode_mean of 4, uniform8", "write_copy, bf16",
               "step_ahead of two", "owner's sparse mean of 8, 1 %", "support_overlap of 8, 1 %", "fold_corrections",
               "active mask of the variance", "top-k per 4096, 1 %", "encode_two_levels, 3 %", "update_variance, factored", "accumulate_momentum_direction", "top-k of all, 0.1 %",
               "sparse mean of 8, 1 %",
               "adam step, d = 10000, 1 rank"):
    expect(wanted in names, wanted, "is missing in", names)
for line in lines:
    expect(line["milliseconds"] > 0 and line["spread"] >= 0, line)
    expect((line["ratio_to_limit"] is None) == (line["bytes_per_element"] == 0), line)

table = program.start(0, "kernels", "--elements", "4096", "--repetitions", "1", "--threads", "1", "--only",
                      "adam_update", "--only", "copy")
expect(re.search(r": (1 thread|a device) of \w+, medians", table.stdout) and "adam_update with decay" in table.stdout, table)
expect("lamb" not in table.stdout and "limit: sum" in table.stdout, table)

for wrong in (["kernels", "--elements", "5"], ["kernels", "--threads", "none"], ["kernels", "--repetitions", "0"], []):
    refused = program.start(0, *wrong)
    expect(refused.returncode == 2 and refused.stderr.count("\n") == 1 and refused.stdout == "", wrong, refused)
