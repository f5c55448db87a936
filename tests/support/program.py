# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program, alone or on ranks, and reads what training wrote."""
import functools
import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np

from expect import expect

sys.path.append(str(pathlib.Path(__file__).parents[2] / "scripts" / "internal"))
from optimizers import algorithms_of, optimizers, phases_toml  # noqa: E402, F401


class Program:
    """The program and its launcher, as in: kadam-train mpirun -n"""

    def __init__(self, arguments, timeout=50):
        self.path, self.launcher, self.timeout = arguments[0], arguments[1:], timeout

    def command(self, ranks, *options):
        """ranks = 0: one rank without the launcher."""
        launcher = [*self.launcher, str(ranks)] if ranks > 0 else []
        return [*launcher, self.path, *map(str, options)]

    def start(self, ranks, *options, environment=None, **settings):
        """With these variables beside those that are set; settings are those of subprocess.run."""
        return subprocess.run(self.command(ranks, *options), capture_output=True, text=True, check=False,
                              timeout=self.timeout, env=os.environ | (environment or {}), **settings)

    def run(self, ranks, *options, **settings):
        """A run that has to succeed; its standard output."""
        done = self.start(ranks, *options, **settings)
        if done.returncode != 0:
            sys.exit(f"{options}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    @functools.cached_property
    def known(self):
        """What every optimizer is, by its name."""
        return optimizers(self.path)

    def optimizers(self, words):
        """Names from a list as in adam,lamb; of all: every optimizer that there is."""
        return algorithms_of(words, self.known)

    def warmup_of(self, name, steps):
        """Options for a warm-up of so many steps, if it has one."""
        warmup = self.known[name]["warmup"]
        return ["--set", f"optimizer.{name}.{warmup}={steps}"] if warmup else []


def metrics(folder):
    """The lines of metrics.jsonl: those of training, those of evaluations."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [l for l in lines if "loss" in l], [l for l in lines if "held_out_loss" in l]


def parameters(folder):
    """Tensors by name, read without any library: an 8-byte length, a JSON header, the data."""
    content = (folder / "parameters.safetensors").read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        expect(entry["dtype"] == "F32", name, entry)
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], np.float32)
    return tensors
