# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kadam-train records is what it trained with: kadam-replay, with the same configuration, goes the same way to the
last bit. record_test.py KADAM_TRAIN KADAM_REPLAY LAUNCHER..."""
import json
import pathlib
import sys
import tempfile

import numpy as np

import small_data
from expect import expect
from program import Program, parameters

train, replay = Program([sys.argv[1], *sys.argv[3:]]), Program(sys.argv[2:])

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for kind, text in (("images", small_data.images_toml(small_data.write_images(folder / "data"), steps=20)),
                       ("text", small_data.text_toml(small_data.write_text(folder / "data.txt"), steps=20))):
        config, recording = folder / f"{kind}.toml", folder / kind / "recording"
        config.write_text(text + '\n[[optimizer.groups]]\ntensors = "*.bias"\nlr_scale = 0.3\ndense = true\n')
        options = ["--set", "optimizer.name=onebit_adam", "--set", "optimizer.onebit_adam.warmup_steps=15"]
        run = ["--config", config, *options]
        train.run(2, *run, "--record", recording, "--run", folder / kind / "run")
        replay.run(2, "--case", recording, *run, "--out", folder / "out.npy")
        tensors = json.loads((recording / "case.json").read_text())["tensors"]
        found = parameters(folder / kind / "run")
        trained = np.concatenate([found[tensor["name"]] for tensor in tensors])
        for rank, replayed in enumerate(np.load(folder / "out.npy")):
            expect(replayed[-1].tobytes() == trained.tobytes(), kind, "rank", rank, "went another way")
        matrices = [tensor for tensor in tensors if tensor["name"].endswith("weight") and "norm" not in tensor["name"]]
        expect(all("shape" in tensor for tensor in matrices), tensors)
        expect(any(not tensor.get("spectral", True) for tensor in tensors), "no output layer", tensors)

        for expected, *more in (("this folder holds a recording already", "--run", folder / "new"),
                                ("leave --compare and --checkpoint out", "--run", folder / "new", "--compare", "adam")):
            done = train.start(2, *run, "--record", recording, *more)
            expect(done.returncode == 2 and expected in done.stderr and not (folder / "new").exists(), done)
