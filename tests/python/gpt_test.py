# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples that train a GPT on a text do so, and send less than dense Adam: gpt_test.py EXAMPLE LAUNCHER..."""
import importlib.util
import pathlib
import random
import re
import sys
import tempfile

from expect import expect
from program import Program

STEPS = 40
example, *launcher = sys.argv[1:]
program = Program([sys.executable, *launcher], timeout=200)
needs = ["torch", "transformers", "accelerate"] if "hugging_face" in example else ["torch"]
for module in needs:
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {module} is not installed (torch: scripts/bench_peers.sh makes an environment that has it; "
              "pip install transformers accelerate)")
        sys.exit(77)


def write_text(path):
    """Few words: what comes next can be guessed from little."""
    chance = random.Random(1)
    path.write_text(" ".join(chance.choice(["kadam", "sends", "little", "of", "it"]) for _ in range(20000)))
    return path


def run(text, optimizer):
    said = program.run(2, example, "--text", text, "--optimizer", optimizer, "--steps", STEPS, "--width", 32,
                       "--depth", 1, "--heads", 2, "--context", 32, "--lr", 0.01)
    found = re.search(r"on 2 ranks: held-out loss ([\d.]+) nats per byte after (\d+) steps of (\d+) parameters\n"
                      r"(\d+) B sent per step; the gradient has (\d+) B", said)
    expect(found and int(found[2]) == STEPS and int(found[5]) == 4 * int(found[3]), said)
    return float(found[1]), int(found[4]), int(found[5]), said


with tempfile.TemporaryDirectory() as folder:
    text = write_text(pathlib.Path(folder) / "text")
    loss, dense, whole, said = run(text, "adam")
    # Bytes at random are 5.5 nats; the ones that there are, as often as they are, 2.6. Of two ranks each sends half of
    # the vector twice; ranks that do not exchange send nothing.
    expect(loss < 2.5, said)
    expect(whole <= dense < 1.02 * whole, said)
    loss, sent, _, said = run(text, "onebit_adam")
    # A quarter of the run is dense, the rest one bit an element.
    expect(loss < 2.7, said)
    expect(0.25 * dense < sent < 0.35 * dense, said)
