# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line counts more than the file, the file more than case.json, whose options are its algorithm's alone:
options_test.py REPLAY LAUNCHER..."""
import json
import pathlib
import sys
import tempfile

import numpy as np

from expect import expect
from program import Program

replay = Program(sys.argv[1:])
RANKS, STEPS, D = 2, 4, 6

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    case = folder / "case"
    case.mkdir()
    # One sign in all steps: a step of adam is as long as its learning rate.
    np.save(case / "gradients.npy", np.ones((RANKS, STEPS, D), np.float32))
    np.save(case / "parameters.npy", np.zeros(D, np.float32))
    description = {"algorithm": "onebit_adam", "ranks": RANKS, "options": {"lr": 0.5, "warmup_steps": 2},
                   "tensors": [{"name": "a.weight", "begin": 0, "end": 4}, {"name": "a.bias", "begin": 4, "end": D}]}
    (case / "case.json").write_text(json.dumps(description))
    config = folder / "train.toml"
    config.write_text("[data]\nkind = 'text'\n[optimizer]\nname = 'apmsqueeze'\nlr = 0.25\n[optimizer.apmsqueeze]\n"
                      "warmup_steps = 3\nbits = 8\n[[optimizer.groups]]\ntensors = '*.bias'\nlr_scale = 2\n")

    def steps_of(*words):
        """The algorithm, steps that were compressed, and the length of the first step in both tensors."""
        found = json.loads(replay.run(RANKS, "--case", case, "--out", folder / "out.npy", "--json", *words))
        first = np.abs(np.load(folder / "out.npy")[0, 0])
        return found["optimizer"], found["compared_steps"], round(float(first[0]), 5), round(float(first[-1]), 5)

    for expected, *words in [
            (("onebit_adam", 2, 0.5, 0.5),),
            (("onebit_adam", 1, 0.125, 0.125), "--set", "lr=0.125", "--set", "warmup_steps=3"),
            (("onebit_adam", 1, 0.5, 0.5), "--set", "optimizer.onebit_adam.warmup_steps=3"),
            (("onebit_adam", 1, 0.5, 0.5), "--steps", "3"),
            # Another algorithm has none of the options of this one.
            (("adam", 0, 0.001, 0.001), "--optimizer", "adam"),
            (("efficient_adam", 4, 0.001, 0.001), "--optimizer", "efficient_adam", "--set", "beta1=0"),
            # A file of kadam-train; apmsqueeze has no bias correction: m = 0.1, v = 0.001.
            (("apmsqueeze", 1, 0.79057, 1.58114), "--config", config),
            (("adam", 0, 0.25, 0.5), "--config", config, "--optimizer", "adam"),
            (("adam", 0, 0.25, 0.25), "--config", config, "--optimizer", "adam", "--set", "groups=[]"),
            (("adam", 0, 0.0625, 0.125), "--config", config, "--optimizer", "adam", "--set", "lr=0.0625"),
            (("onebit_adam", 2, 0.25, 0.5), "--config", config, "--optimizer", "onebit_adam")]:
        got = steps_of(*words)
        if expected[0] == "efficient_adam":
            got = (*got[:2], *expected[2:])
        expect(got == expected, words, "gives", got, "in place of", expected)
