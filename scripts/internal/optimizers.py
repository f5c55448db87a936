# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizers of a build, their kinds, and lists of their names."""
import json
import pathlib
import subprocess
import sys


def optimizers(program):
    """{name: kind} from `kadam-doctor --optimizers --json`. program: any program of the same build."""
    doctor = pathlib.Path(program).with_name("kadam-doctor")
    if not doctor.exists():
        sys.exit(f"kadam: {program} needs kadam-doctor in its folder, which lists the optimizers of the build")
    listed = subprocess.run([doctor, "--optimizers", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return {one["name"]: one for one in json.loads(listed.stdout)}


def has_option(kind, name):
    return any(option["name"] == name for option in kind["options"])


def words_of(text, known, what):
    """Splits a text at commas; ends the program if a word is not in `known`. what: what a word is, for the message."""
    words = text.split(",")
    for word in words:
        if word not in known:
            sys.exit(f"kadam: There is no {what} {word}; choose from {', '.join(known)}")
    return words


def algorithms_of(text, known):
    """The algorithms in a text like adam,lamb; all that are known for the text `all`."""
    return list(known) if text == "all" else words_of(text, known, "algorithm")


def phases_toml(kinds, step, besides=()):
    """TOML tables that end the warm-ups of these optimizers at `step`, except those in `besides`, which have a
    table."""
    text = ""
    for name, kind in kinds.items():
        if not kind["warmup"] or name in besides:
            continue
        text += f"[optimizer.{name}]\n{kind['warmup']} = {step}\n"
        if has_option(kind, "sync_doubling_steps"):
            text += f"sync_doubling_steps = {2 * step}\n"
    return text
