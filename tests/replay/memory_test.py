# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-replay holds a step of a recording, not all of it: memory_test.py REPLAY LAUNCHER...

A recording and an output that are many times as long need no more memory."""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

from expect import expect
from program import Program

replay = Program(sys.argv[1:], timeout=150)
RANKS, D, FEW, MANY = 2, 100_000, 4, 400


def bytes_of(steps):
    """Of all ranks: 320 MB for many."""
    return 4 * RANKS * steps * D


if sys.argv[-1] == "--of-children":
    # In a process of its own: what getrusage() says is the largest of all children so far.
    sys.argv.pop()
    done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=False)
    print(json.dumps([done.returncode, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.stderr]))
    sys.exit()


def largest_bytes(case, *words):
    """The memory of the largest process."""
    command = [*map(str, replay.command(RANKS, "--case", case, "--optimizer", "onebit_adam", "--set", "warmup_steps=2", *words))]
    said = subprocess.run([sys.executable, __file__, *command, "--of-children"], capture_output=True, text=True, check=True)
    code, largest, errors = json.loads(said.stdout)
    expect(code == 0, errors)
    return largest


def write_case(folder, steps):
    folder.mkdir()
    np.save(folder / "parameters.npy", np.ones(D, np.float32))
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }" % (RANKS, steps, D)
    with open(folder / "gradients.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117) + b"\n")
        file.truncate(128 + bytes_of(steps))  # a hole
    (folder / "case.json").write_text(json.dumps({"ranks": RANKS, "tensors": [{"name": "x", "begin": 0, "end": D}]}))
    return folder


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    few = largest_bytes(write_case(folder / "few", FEW), "--out", folder / "few.npy")
    many = largest_bytes(write_case(folder / "many", MANY), "--out", folder / "many.npy")
    expect((folder / "many.npy").stat().st_size == 128 + bytes_of(MANY), "the output is of another length")
    print(f"{few} B for {FEW} steps, {many} B for {MANY}")
    # Beyond the vectors of few steps: buffers of files and messages.
    expect(many - few < 8 * bytes_of(1), f"{many - few} B more for {bytes_of(MANY)} B of gradients")
