# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-plan measures the ranks of one node and says dense: one_node_test.py KADAM_PLAN MPIRUN -n"""
import json
import sys

from expect import expect
from program import Program

program = Program(sys.argv[1:], timeout=110)

done = program.start(2, "--parameters", "5M", "--json")
expect(done.returncode == 0, done)
plan = json.loads(done.stdout)
expect([v["ranks"] for v in plan["verdicts"]] == [2], plan["verdicts"])
expect(plan["verdicts"][0]["best"].startswith("adam") and not plan["verdicts"][0]["compresses"], plan["verdicts"])
network = plan["network"]
expect(network["ranks_per_node"] == 2 and network["link_bytes_per_second"] == 0, network)
expect(0 < network["node_latency_seconds"] < 1 and 1e6 < network["node_bytes_per_second"] < 1e13, network)
for prediction in plan["predictions"]:
    expect(0 < prediction["step"]["kernel_seconds"] < 100, prediction)

known = {"--compute": "0s", "--steps": "100000", "--warmup": "0.15", "--background-overlap": "1"}
expect(plan["assumed"] == known, "what was measured is not assumed", plan["assumed"])

far = program.start(2, "--parameters", "5M", "--memory", "10GB/s", "--ranks", "64")
expect(far.returncode == 2 and "beyond this node" in far.stderr, far)
