# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws v of the solver and of the surrogate at the last unseen time: picture.py RUN [PICTURE]"""
import json
import pathlib
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

run = pathlib.Path(sys.argv[1])
truth, prediction = np.load(run / "truth.npy")[1], np.load(run / "prediction.npy")[1]
lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
trained_until = [line["time"] for line in lines if "jump" in line][-1]
unseen = [line for line in lines if "unseen_jump" in line][-1]
difference = prediction - truth

figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained", sharey=True)
for axis, title, field in [(axes[0], f"solver, time {unseen['time']:g}", truth),
                           (axes[1], f"surrogate alone since time {trained_until:g}", prediction)]:
    value = axis.imshow(field, origin="lower", cmap="viridis", vmin=0, vmax=truth.max())
    axis.set(title=title, xlabel="cells")
figure.colorbar(value, ax=axes[:2], location="bottom", label="v", fraction=0.05)
largest = np.abs(difference).max()
value = axes[2].imshow(difference, origin="lower", cmap="RdBu_r", vmin=-largest, vmax=largest)
axes[2].set(xlabel="cells", title=f"difference; error {100 * unseen['rollout_error']:.2g} %, "
                                  f"unchanged {100 * unseen['state_persistence']:.2g} %")
figure.colorbar(value, ax=axes[2], location="bottom", label="surrogate - solver", fraction=0.05)
figure.savefig(sys.argv[2] if len(sys.argv) > 2 else run / "unseen.png", dpi=100)
