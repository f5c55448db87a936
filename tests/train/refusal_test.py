# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes end kadam-train on all ranks with exit code 2 and one sentence, and nothing is written.

refusal_test.py KADAM_TRAIN LAUNCHER...
"""
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile

import small_data
from program import Program

program = Program(sys.argv[1:])


def set_to(assignment):
    return ["--set", assignment]


def prepare(folder):
    data = small_data.write_images(folder / "images")
    (folder / "images.toml").write_text(small_data.images_toml(data))
    shutil.copytree(data, folder / "broken")
    content = (data / "train-images-idx3-ubyte").read_bytes()
    (folder / "broken" / "train-images-idx3-ubyte").write_bytes(content[: len(content) // 2])
    (folder / "bad.toml").write_text("[data]\nkind = idx\n")
    (folder / "used").mkdir()
    (folder / "used" / "metrics.jsonl").write_text("")
    (folder / "file").write_text("")


def cases(folder):
    """(part of the sentence, options, ranks); 0 ranks: without the launcher."""
    return [
        ("not expected: --frobnicate", ["--frobnicate"], 2),
        ("there is no optimizer 'onebit': choose one of adam", ["--compare", "adam,onebit"], 2),
        ("train-images-idx3-ubyte: at byte", set_to(f"data.path={folder}/broken"), 2),
        ("used holds metrics.jsonl already", ["--run", folder / "used"], 2),
        ("256 examples are fewer than one batch", set_to("training.batch=200"), 2),
        ("has no option 'training.step': its options are data.kind", set_to("training.step=3"), 0),
        ("adam has no option 'beta': its options are lr", set_to("optimizer.beta=3"), 0),
        ("there is no optimizer 'adamm': choose one of adam", set_to("optimizer.name=adamm"), 0),
        ("names 'adam' twice", ["--compare", "adam,adam"], 0),
        ("as optimizer.onebit_adam.bits", ["--compare", "adam,onebit_adam", *set_to("optimizer.bits=1")], 0),
        ("nowhere: expected a file train-images", set_to("data.path=nowhere"), 0),
        ("the folder cannot be made", ["--run", folder / "file"], 0),
        ("'beta1': expected 0 <= beta1 < 1", set_to("optimizer.beta1=1"), 0),
        ("'steps': expected 1 or more", set_to("training.steps=0"), 0),
        ("'lr' is a list of 2 entries for a run of 40 steps", set_to("optimizer.lr=[0.1, 0.2]"), 0),
        ("bad.toml: line 2", ["--config", folder / "bad.toml"], 0),
        ("nothing.toml: there is no such file", ["--config", folder / "nothing.toml"], 0),
        ("does not fit images", set_to("model.kind=transformer"), 0),
    ]


def failure(folder, expected, options, ranks):
    for option, value in (("--config", folder / "images.toml"), ("--run", folder / "run")):
        if option not in options:
            options = [option, value, *options]
    done = program.start(ranks, *options)
    sentences = [line for line in done.stderr.splitlines() if line.startswith("kadam-train: ")]
    print(done.returncode, *sentences)
    if done.returncode == 2 and len(sentences) == 1 and expected in sentences[0] and not done.stdout:
        return ""
    return f"expected exit code 2 and, once: {expected}\ngot {done.returncode}\n{done.stderr}{done.stdout}"


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    prepare(folder)
    before = sorted(folder.rglob("*"))
    # Most of the time is the launcher waiting for processes that have ended.
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        failures = list(filter(None, pool.map(lambda case: failure(folder, *case), cases(folder))))
    written = [str(path) for path in sorted(folder.rglob("*")) if path not in before]
    if failures or written:
        sys.exit("\n".join(failures + written))
