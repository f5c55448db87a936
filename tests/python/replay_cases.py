# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same steps through Python and through C++: mpirun -n 3 python replay_cases.py FOLDER_OF_CASES OUT_FOLDER

Writes OUT_FOLDER/<case>.npy for every case of 3 ranks, as kadam-replay does: replay_test.py compares the two.
"""
import json
import pathlib
import sys

import kadam
import numpy as np
from mpi4py import MPI

cases, out = map(pathlib.Path, sys.argv[1:])
for folder in sorted(path.parent for path in cases.glob("*/case.json")):
    case = json.loads((folder / "case.json").read_text())
    if case["ranks"] != MPI.COMM_WORLD.size:
        continue
    tensors = {t["name"]: t.get("shape", t["end"] - t["begin"]) for t in case["tensors"]}
    options = case["options"]
    if "matrices" in kadam.options(case["algorithm"]):
        options = {"matrices": ",".join(t["name"] for t in case["tensors"] if t.get("spectral", True))} | options
    optimizer = kadam.Optimizer(case["algorithm"], tensors, MPI.COMM_WORLD, groups=case.get("groups", []), **options)
    gradients = np.load(folder / "gradients.npy")[optimizer.rank]
    x = np.load(folder / "parameters.npy")
    points = []
    for gradient in gradients:
        optimizer.step(x, np.ascontiguousarray(gradient))
        points.append(x.copy())
    everybody = MPI.COMM_WORLD.gather(np.stack(points))
    if optimizer.rank == 0:
        np.save(out / f"{folder.name}.npy", np.stack(everybody))
    optimizer.close()
