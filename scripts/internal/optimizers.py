# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which optimizers a build has, of what kind they are, and which of them somebody names."""
import json
import pathlib
import subprocess
import sys


def optimizers(program):
    """By name, what `kadam-doctor --optimizers --json` says of each; program: any of the same build."""
    doctor = pathlib.Path(program).with_name("kadam-doctor")
    listed = subprocess.run([doctor, "--optimizers", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return {one["name"]: one for one in json.loads(listed.stdout)}


def has_option(kind, name):
    return any(option["name"] == name for option in kind["options"])


def words_of(text, known, what):
    """A list of words with commas, each of those that are known."""
    words = text.split(",")
    for word in words:
        if word not in known:
            sys.exit(f"kadam: There is no {what} {word}: {', '.join(known)}")
    return words


def phases_toml(kinds, step, besides=()):
    """Tables of a configuration: where these optimizers end their warm-up; besides: those that have a table already."""
    text = ""
    for name, kind in kinds.items():
        if not kind["warmup"] or name in besides:
            continue
        text += f"[optimizer.{name}]\n{kind['warmup']} = {step}\n"
        if has_option(kind, "sync_doubling_steps"):
            text += f"sync_doubling_steps = {2 * step}\n"
    return text
