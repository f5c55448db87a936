# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws temperature, prediction and error of heat.dat: picture.py FOLDER [PICTURE]"""
import pathlib
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

folder = pathlib.Path(sys.argv[1])
columns, rows, *values = np.loadtxt(folder / "heat.dat", unpack=True)
at = rows.astype(int) - 1, columns.astype(int) - 1
truth, prediction, difference = (np.zeros((at[0].max() + 1, at[1].max() + 1)) for _ in range(3))
for field, value in zip((truth, prediction, difference), values):
    field[at] = value

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
largest = np.abs(difference).max()
for axis, title, field, colours in [
        (axes[0], "truth", truth, {"cmap": "inferno", "vmin": 0, "vmax": truth.max()}),
        (axes[1], "prediction", prediction, {"cmap": "inferno", "vmin": 0, "vmax": truth.max()}),
        (axes[2], "prediction - truth", difference, {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest})]:
    axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(axis.imshow(field, origin="lower", **colours), ax=axis)
figure.savefig(sys.argv[2] if len(sys.argv) > 2 else folder / "heat.png", dpi=100)
