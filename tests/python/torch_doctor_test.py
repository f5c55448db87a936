# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m kadam.doctor takes its step on the ranks that torchrun starts. Skipped, in words, without PyTorch."""
import json
import subprocess
import sys

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed (scripts/bench_peers.sh makes an environment that has it)")
    sys.exit(77)

from expect import expect


def start(ranks, *options):
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "-m",
                           "kadam.doctor", *options], capture_output=True, text=True, check=False, timeout=100)
    expect(done.returncode == 0, done.stdout, done.stderr)
    return done.stdout


said = start(2)
expect("All is well." in said and "2, by torchrun" in said and "bitwise equal on all ranks" in said, said)
findings = json.loads(start(3, "--json"))
expect(findings["ranks"] == 3 and findings["ranks_by"] == "torchrun" and len(findings["threads"]) == 3, findings)
expect(findings["self_test"]["equal_on_all_ranks"] and findings["torch"] == torch.__version__.split("+")[0], findings)
