# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training with every optimizer under Valgrind: nothing is read that was not written, and nothing outside of its memory:
valgrind_test.py ALGORITHMS KADAM_TRAIN LAUNCHER..."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import small_data
from expect import expect
from program import Program

STEPS = 8
FOUND = 99
SUPPRESSIONS = [path for path in ("/usr/share/openmpi/openmpi-valgrind.supp",) if os.path.exists(path)]
program = Program(sys.argv[2:])

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images", 32, 8)
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS))
    valgrind = ["valgrind", "--quiet", f"--error-exitcode={FOUND}", *(f"--suppressions={path}" for path in SUPPRESSIONS),
                f"--suppressions={pathlib.Path(__file__).with_name('valgrind.supp')}"]
    for algorithm in program.optimizers(sys.argv[1]):
        options = ["--config", folder / "a.toml", "--set", f"optimizer.name={algorithm}", "--run", folder / algorithm,
                   "--checkpoint", folder / f"{algorithm}-saved", "--checkpoint-every", 5]
        options += program.warmup_of(algorithm, 3)
        start = time.monotonic()
        command = [*program.launcher, "2", *valgrind, program.path, *map(str, options)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        expect(done.returncode == 0, algorithm, done.returncode, done.stdout[-2000:], done.stderr[-20000:])
        print(f"{algorithm:<26} {STEPS} steps: nothing found, {time.monotonic() - start:.0f} s", flush=True)
