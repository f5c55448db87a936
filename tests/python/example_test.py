# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PyTorch example trains, sends less than dense Adam, goes on where it was, and does the same under torchrun:
example_test.py EXAMPLE LAUNCHER..."""
import pathlib
import re
import subprocess
import sys
import tempfile

from expect import expect
from program import Program

example, *launcher = sys.argv[1:]
program = Program([sys.executable, *launcher], timeout=200)
try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: PyTorch is not installed (scripts/bench_peers.sh makes an environment that has it)")
    sys.exit(77)
if not pathlib.Path("/usr/share/datasets/fashion-mnist").exists():
    print("skipped: Fashion-MNIST is not installed (package dataset-fashion-mnist)")
    sys.exit(77)


def run(ranks, *arguments):
    """Accuracy in percent, bytes sent per step, and everything that was printed."""
    said = program.run(ranks, example, *arguments)
    found = re.search(r"([\d.]+) % of 10000.*\n(\d+) B sent per step; the gradient has 81960 B", said)
    expect(found, said)
    return float(found[1]), int(found[2]), said


with tempfile.TemporaryDirectory() as folder:
    accuracy, sent, words = run(4, "--steps", 400, "--checkpoint", folder)
    expect(accuracy > 80 and "compressed" in words, words)
    _, dense, dense_words = run(4, "--optimizer", "adam", "--steps", 20)
    # Three quarters of the vector leave each of four ranks, twice; half of the other run is one bit an element.
    expect(1.5 * 81960 < dense < 1.51 * 81960 and 0.5 * dense < sent < 0.55 * dense, sent, dense, dense_words)
    again, nothing, words = run(4, "--steps", 400, "--checkpoint", folder)
    expect(again == accuracy and nothing < dense and "step " not in words, again, accuracy, words)

for optimizer, ranks, words in ("adam", 4, dense_words), ("onebit_adam", 2, None):
    few = ["--optimizer", optimizer, "--steps", "20"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), example, *few]
    by_torchrun = subprocess.run(torchrun, capture_output=True, text=True, timeout=200, check=False)
    words = words or run(ranks, *few)[2]
    expect(by_torchrun.stdout == words, by_torchrun.stdout, by_torchrun.stderr, words)
