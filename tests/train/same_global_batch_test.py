# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""16 examples make the same step however they are shared out: same_global_batch_test.py KADAM_TRAIN LAUNCHER...

Over ranks and over accumulated batches, the same examples come in each step; only the order of the sum differs.
eps is large because Adam's step would else depend on the sign of gradients that are rounding errors.
"""
import pathlib
import sys
import tempfile

import numpy as np

import small_data
from expect import expect
from program import Program, parameters

program = Program(sys.argv[1:])

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "images.toml").write_text(small_data.images_toml(data))
    results = []
    for ranks, batch, accumulate in ((1, 16, 1), (1, 4, 4), (2, 8, 1), (2, 4, 2), (4, 4, 1)):
        run = folder / f"{ranks}x{batch}x{accumulate}"
        sizes = ["--set", f"training.batch={batch}", "--set", f"training.accumulate={accumulate}"]
        program.run(ranks, "--config", folder / "images.toml", "--set", "optimizer.eps=0.01", *sizes, "--run", run)
        results.append((run.name, np.concatenate(list(parameters(run).values()))))
    reference = results[0][1]
    for label, values in results[1:]:
        worst = np.abs(values - reference).max()
        print(label, worst)
        expect(worst < 1e-5, label, "differs from one rank and one batch by", worst)
