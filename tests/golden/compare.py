# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a replayed trajectory with the expected one: python3 compare.py CASE_FOLDER OUT.npy

A sign decided within rounding of zero may flip one coordinate and, through its block's scale, nudge the neighbours.
So the bound is on the fraction of coordinates that leave the tolerance at any step and rank (1 %), not on the worst.
"""
import pathlib
import sys

import numpy as np

case = pathlib.Path(sys.argv[1])
expected = np.load(case / "expected.npy").astype(np.float64)
got = np.load(sys.argv[2]).astype(np.float64)
if got.shape != expected.shape:
    sys.exit(f"{case.name}: shape {got.shape}, expected {expected.shape}")
start = np.load(case / "parameters.npy").astype(np.float64)
moved = np.abs(expected - start).mean(axis=2, keepdims=True) + 1e-12
off = np.abs(got - expected) > 2e-3 * moved + 2e-6 * (1 + np.abs(expected))
worst = off.mean(axis=2).max()
print(f"{case.name}: {100 * worst:.2f} % of the coordinates are off at the worst step and rank")
sys.exit(0 if worst <= 0.01 and np.isfinite(got).all() else 1)
