# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples for C and Fortran train: embedding_test.py softmax_regression|heat PROGRAM LAUNCHER..."""
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from expect import expect
from program import Program

what, program = sys.argv[1], Program(sys.argv[2:], timeout=100)


def number(pattern, text):
    found = re.search(pattern, text)
    expect(found, pattern, "is not in", text)
    return float(found[1])


def accuracy(text):
    return number(r"([\d.]+) % of", text)


def softmax_regression(folder):
    images = pathlib.Path("/usr/share/datasets/fashion-mnist")
    if not images.exists():
        print("skipped: Fashion-MNIST is not installed (package dataset-fashion-mnist)")
        sys.exit(77)
    sent = {}
    for optimizer in "adam", "onebit_adam":
        text = program.run(4, images, optimizer)
        expect(accuracy(text) > 80, text)
        sent[optimizer] = number(r"(\d+) B sent per step", text)
    # The first sixth is dense, the rest one bit an element and a scale per block.
    expect(sent["onebit_adam"] < 0.25 * sent["adam"], sent)
    # Goes on where it was: then there is nothing left to do, and the accuracy is the same.
    whole = program.run(2, images, "onebit_adam", folder / "saved")
    again = program.run(2, images, "onebit_adam", folder / "saved")
    expect(accuracy(whole) == accuracy(again) and "step " not in again, whole, again)
    shutil.rmtree(folder / "saved" / "step-000000000600")
    half = program.run(2, images, "onebit_adam", folder / "saved")
    expect(accuracy(half) == accuracy(whole) and "step 300" not in half and "step 400" in half, half, whole)


def heat(folder):
    errors = {}
    for ranks, optimizer in (2, "adam"), (4, "onebit_adam"):
        text = program.run(ranks, optimizer, folder)
        surrogate = number(r"surrogate +([\d.E+-]+)", text)
        expect(surrogate < 0.5 * number(r"unchanged +([\d.E+-]+)", text), text)
        errors[ranks] = number(r"unchanged +([\d.E+-]+)", text)
    expect(abs(errors[2] / errors[4] - 1) < 1e-3, "the solver depends on the ranks", errors)
    rows = [line.split() for line in (folder / "heat.dat").read_text().splitlines() if line]
    expect(len(rows) == 96 * 96 and len({(row[0], row[1]) for row in rows}) == 96 * 96, len(rows))
    if importlib.util.find_spec("matplotlib"):
        picture = pathlib.Path(__file__).parents[2] / "examples" / "heat_fortran" / "picture.py"
        subprocess.run([sys.executable, picture, folder], check=True, capture_output=True)
        expect((folder / "heat.png").stat().st_size > 10000, "an empty picture")


with tempfile.TemporaryDirectory() as name:
    {"softmax_regression": softmax_regression, "heat": heat}[what](pathlib.Path(name))
