# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of kadam-replay are those that NumPy finds in the trajectories:
figures_test.py FOLDER_OF_CASES REPLAY LAUNCHER...

Ranks of the second and the third case differ between synchronisations."""
import json
import pathlib
import sys
import tempfile

import numpy as np

from expect import expect
from program import Program

cases, replay = pathlib.Path(sys.argv[1]), Program(sys.argv[2:])


def figures(x, y, start, first, rate):
    """x: [ranks][steps][d], y: [steps][d]; compared from step `first` on."""
    mean = x.mean(axis=0)
    begin = y[first - 1] if first else start
    moved, way = y[-1] - begin, mean[-1] - begin
    norm = np.linalg.norm(moved)
    steps = np.diff(np.concatenate([begin[None], mean[first:]]), axis=0)
    both = (moved != 0) & (np.abs(way) > 2e-7 * np.maximum(np.abs(begin), np.abs(y[-1])))
    apart = np.sqrt((np.square(x - mean).sum(axis=2)).mean(axis=0)[first:]).max()
    return {"distance": np.linalg.norm(mean[-1] - y[-1]) / norm, "length": np.linalg.norm(way) / norm,
            "signs": (way * moved > 0)[both].mean(), "largest_step": np.abs(steps).max() / rate,
            "apart": apart / norm}


with tempfile.TemporaryDirectory() as name:
    out, dense_out = pathlib.Path(name) / "out.npy", pathlib.Path(name) / "dense.npy"
    for case in "onebit_adam_a", "local_adam_a", "zero_one_adam_a":
        description = json.loads((cases / case / "case.json").read_text())
        ranks, options = description["ranks"], description["options"]
        found = json.loads(replay.run(ranks, "--case", cases / case, "--out", out, "--json"))
        expect(found["beside"] == "adam", found)
        known = [word for option, value in options.items() if option in ("lr", "beta1", "beta2", "eps", "weight_decay",
                 "clip_norm", "bias_correction") for word in ("--set", f"{option}={json.dumps(value)}")]
        replay.run(ranks, "--case", cases / case, "--optimizer", "adam", *known, "--out", dense_out)
        x, y = np.load(out).astype(np.float64), np.load(dense_out)[0].astype(np.float64)
        start = np.load(cases / case / "parameters.npy").astype(np.float64)
        first = description["steps"] - found["compared_steps"]
        rates = np.array(options["lr"]).reshape(-1)
        rate = rates[first:].max() if rates.size > 1 else rates[0]
        for tensor in [*description["tensors"], {"name": "all", "begin": 0, "end": start.size}]:
            got = next((t for t in found["tensors"] if t["name"] == tensor["name"]), found["all"])
            part = slice(tensor["begin"], tensor["end"])
            for figure, value in figures(x[:, :, part], y[:, part], start[part], first, rate).items():
                expect(abs(got[figure] - value) < 1e-4 * (1 + abs(value)), case, tensor, figure, got[figure], value)
        equal = sum(bool((x[:, t] == x[0, t]).all()) for t in range(first, description["steps"]))
        expect(found["equal_steps"] == equal, case, found["equal_steps"], equal)
        expect((case == "onebit_adam_a") == (equal == found["compared_steps"]), case, "ranks are", found["all"]["apart"])

    # Where nothing is compressed there is nothing to compare.
    said = replay.run(4, "--case", cases / "onebit_adam_a", "--set", "warmup_steps=20")
    expect("No step was compressed" in said, said)
