# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes end kadam-train on all ranks with exit code 2 and one sentence, and nothing is written.

refusal_test.py KADAM_TRAIN LAUNCHER...
"""
import pathlib
import shutil
import sys
import tempfile

import small_data
from expect import expect
from program import Program
from refusals import refusals

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
        ("set optimizer.onebit_adam.bits instead", ["--compare", "adam,onebit_adam", *set_to("optimizer.bits=1")], 0),
        ("nowhere: expected a file train-images", set_to("data.path=nowhere"), 0),
        ("the folder cannot be made", ["--run", folder / "file"], 0),
        ("'beta1': expected a number, 0 to below 1, got 1", set_to("optimizer.beta1=1"), 0),
        ("'steps': expected 1 or more", set_to("training.steps=0"), 0),
        ("'lr' is a list of 2 entries for a run of 40 steps", set_to("optimizer.lr=[0.1, 0.2]"), 0),
        ("bad.toml: line 2", ["--config", folder / "bad.toml"], 0),
        ("nothing.toml: there is no such file", ["--config", folder / "nothing.toml"], 0),
        ("does not fit images", set_to("model.kind=transformer"), 0),
    ]


def completed(folder, options):
    """A configuration and a place for the results, unless the case has its own."""
    for option, value in (("--config", folder / "images.toml"), ("--run", folder / "run")):
        if option not in options:
            options = [option, value, *options]
    return options


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    prepare(folder)
    before = sorted(folder.rglob("*"))
    refusals(program, [(words, completed(folder, options), ranks) for words, options, ranks in cases(folder)])
    expect(sorted(folder.rglob("*")) == before, "written:", *set(folder.rglob("*")) - set(before))
