# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-plan measures the ranks of one node and says dense: one_node_test.py KADAM_PLAN MPIRUN -n"""
import json
import subprocess
import sys


def expect(holds, *said):
    if not holds:
        sys.exit(" ".join(map(str, said)))


def run(*arguments):
    return subprocess.run([*sys.argv[2:], "2", sys.argv[1], *arguments], capture_output=True, text=True, check=False,
                          timeout=110)


done = run("--parameters", "5M", "--json")
expect(done.returncode == 0, done)
plan = json.loads(done.stdout)
expect([v["ranks"] for v in plan["verdicts"]] == [2], plan["verdicts"])
expect(plan["verdicts"][0]["best"].startswith("adam") and not plan["verdicts"][0]["compresses"], plan["verdicts"])
network = plan["network"]
expect(network["ranks_per_node"] == 2 and network["link_bytes_per_second"] == 0, network)
expect(0 < network["node_latency_seconds"] < 1 and 1e6 < network["node_bytes_per_second"] < 1e13, network)
for prediction in plan["predictions"]:
    expect(0 < prediction["step"]["kernel_seconds"] < 100, prediction)

far = run("--parameters", "5M", "--memory", "10GB/s", "--ranks", "64")
expect(far.returncode == 2 and "beyond this node" in far.stderr, far)
