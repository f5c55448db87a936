# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kadam.torch.Recorder writes is what a model's gradients were, and kadam-replay goes with it the way that training
went, all to the last bit: torch_recorder_test.py REPLAY LAUNCHER..."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: PyTorch is not installed (scripts/bench_peers.sh makes an environment that has it)")
    sys.exit(77)
import numpy as np

from expect import expect

replay, launcher = sys.argv[1], sys.argv[2:]
RANKS = 2


def run(*words):
    done = subprocess.run([*launcher, str(RANKS), *map(str, words)], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, words, done.stdout, done.stderr)
    return done.stdout


def is_equal(got, expected):
    return got.shape == expected.shape and got.tobytes() == expected.tobytes()


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    run(sys.executable, pathlib.Path(__file__).with_name("torch_recorder_ranks.py"), folder)

    for case in "ours", "ddp", "half", "scaled", "cut_off":
        recorded = [np.load(folder / case / f"gradients.rank{rank}.npy") if case != "cut_off" else None
                    for rank in range(RANKS)]
        for rank in range(RANKS) if case != "cut_off" else ():
            expected = np.load(folder / f"{case}.rank{rank}.npy")
            expect(is_equal(recorded[rank], expected), case, "rank", rank, "has other gradients", recorded[rank], expected)
        description = json.loads((folder / case / "case.json").read_text())
        expect(description["ranks"] == RANKS and "steps" not in description, description)
        expect([(t["name"], t["shape"]) for t in description["tensors"]] ==
               [("0.weight", [16, 8]), ("0.bias", [16]), ("2.weight", [3, 16]), ("2.bias", [3])], description)
        expect(description["tensors"][2]["begin"] == 144 and description["tensors"][-1]["end"] == 195, description)

    # The same optimizer over the recording of its own training.
    options = json.loads((folder / "options.json").read_text())
    sets = [word for option, value in options.items() for word in ("--set", f"{option}={value}")]
    said = run(replay, "--case", folder / "ours", "--optimizer", "onebit_adam", *sets, "--out", folder / "out.npy", "--json")
    trained = np.stack([np.load(folder / f"ours.parameters.rank{rank}.npy") for rank in range(RANKS)])
    expect(is_equal(np.load(folder / "out.npy"), trained), "a replay goes another way than the training")
    summary = json.loads(said)
    expect((summary["steps"], summary["compared_steps"]) == (12, 8), summary)
    expect([t["name"] for t in summary["tensors"]] == ["0.weight", "0.bias", "2.weight", "2.bias"], summary)

    # As many steps as all ranks have.
    said = run(replay, "--case", folder / "cut_off", "--optimizer", "adam", "--json")
    expect(json.loads(said)["steps"] == 4, said)
