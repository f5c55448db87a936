# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples for C and Fortran train: embedding_test.py softmax_regression|heat PROGRAM LAUNCHER..."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

what, program, *launcher = sys.argv[1:]


def expect(holds, *said):
    if not holds:
        sys.exit(" ".join(map(str, said)))


def run(ranks, *arguments):
    done = subprocess.run([*launcher, str(ranks), program, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=100)
    expect(done.returncode == 0, done.returncode, done.stdout, done.stderr)
    return done.stdout


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
        text = run(4, images, optimizer)
        expect(accuracy(text) > 80, text)
        sent[optimizer] = number(r"(\d+) B sent per step", text)
    # The first sixth is dense, the rest one bit an element and a scale per block.
    expect(sent["onebit_adam"] < 0.25 * sent["adam"], sent)
    # Goes on where it was: then there is nothing left to do, and the accuracy is the same.
    whole = run(2, images, "onebit_adam", folder / "saved")
    again = run(2, images, "onebit_adam", folder / "saved")
    expect(accuracy(whole) == accuracy(again) and "step " not in again, whole, again)
    shutil.rmtree(folder / "saved" / "step-000000000600")
    half = run(2, images, "onebit_adam", folder / "saved")
    expect(accuracy(half) == accuracy(whole) and "step 300" not in half and "step 400" in half, half, whole)


def heat(folder):
    errors = {}
    for ranks, optimizer in (2, "adam"), (4, "onebit_adam"):
        text = run(ranks, optimizer, folder)
        surrogate = number(r"surrogate +([\d.E+-]+)", text)
        expect(surrogate < 0.5 * number(r"unchanged +([\d.E+-]+)", text), text)
        errors[ranks] = number(r"unchanged +([\d.E+-]+)", text)
    expect(abs(errors[2] / errors[4] - 1) < 1e-3, "the solver depends on the ranks", errors)
    rows = [line.split() for line in (folder / "heat.dat").read_text().splitlines() if line]
    expect(len(rows) == 96 * 96 and len({(row[0], row[1]) for row in rows}) == 96 * 96, len(rows))
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "heat.gnuplot"], cwd=folder, check=True, capture_output=True)
        expect((folder / "heat.svg").stat().st_size > 10000, "an empty picture")


with tempfile.TemporaryDirectory() as name:
    {"softmax_regression": softmax_regression, "heat": heat}[what](pathlib.Path(name))
