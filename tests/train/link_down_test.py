# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The link of one of two hosts is down for some seconds while they train, and nothing else happens; a disk that is
full, or read-only: link_down_test.py NETLAB ALGORITHMS KADAM_TRAIN LAUNCHER..."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import small_data
from disturbed import parameters_of, steps_in, wait_for
from expect import expect
from program import Program, phases_toml

SKIPPED = 77
DOWN_SECONDS = 3.0
netlab, program = sys.argv[1], Program(sys.argv[3:])
algorithms = program.optimizers(sys.argv[2])


def lab(*words, **options):
    return subprocess.run([netlab, *map(str, words)], capture_output=True, text=True, timeout=60, **options)


def train_through(folder, lab_name, algorithm, options):
    """A run whose second host has no link for a while, and the same run on this host."""
    options = [*options, "--set", f"optimizer.name={algorithm}"]
    saved = folder / f"{algorithm}-saved"
    command = [netlab, "run", "--name", lab_name, "--", program.path, *options, "--run", folder / f"{algorithm}-lab",
               "--checkpoint", saved, "--checkpoint-every", 50]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        wait_for(run, lambda: steps_in(saved), "a checkpoint")
        expect(lab("exec", "--name", lab_name, 1, "--", "ip", "link", "set", "eth0", "down").returncode == 0, "down")
        time.sleep(0.5)
        before = steps_in(saved)
        time.sleep(DOWN_SECONDS)
        expect(steps_in(saved) == before, "steps without a link", before, steps_in(saved))
        expect(lab("exec", "--name", lab_name, 1, "--", "ip", "link", "set", "eth0", "up").returncode == 0, "up")
        said, errors = run.communicate(timeout=90)
    expect(run.returncode == 0, run.returncode, said, errors)
    program.run(2, *options, "--run", folder / f"{algorithm}-usual")
    expect(parameters_of(folder / f"{algorithm}-lab") == parameters_of(folder / f"{algorithm}-usual"), algorithm,
           "has other parameters than with a link that stays")
    print(f"{algorithm:<26} link down: same parameters", flush=True)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data) + phases_toml(program.known, 100, besides=("onebit_adam",)))
    options = ["--config", folder / "a.toml", "--set", "training.steps=3000", "--set", "training.log_every=500", "--set",
               "training.evaluate_every=0"]
    lab_name = f"down{os.getpid()}"
    up = lab("up", "--name", lab_name, "--hosts", 2, "--rate", "100mbit")
    if up.returncode == SKIPPED:
        print(up.stderr.strip())
        sys.exit(SKIPPED)
    expect(up.returncode == 0, up.stderr)
    try:
        for algorithm in algorithms:
            train_through(folder, lab_name, algorithm, options)
    finally:
        lab("down", "--name", lab_name)

    # A disk of 4 MB that others have filled.
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], check=True)
    try:
        saving = [*options, "--set", "training.steps=40", "--checkpoint", disk / "saved", "--resume", "auto"]
        program.run(2, *saving, "--run", folder / "small")
        longer = [*saving, "--set", "training.steps=60", "--set", "model.hidden=[16]"]
        try:
            (disk / "filler").write_bytes(bytes(4 << 20))
        except OSError:
            pass  # now it is full
        done = program.start(2, *longer, "--run", folder / "full")
        expect(done.returncode == 1 and "No space left on device" in done.stderr, done.returncode, done.stderr)
        expect(steps_in(disk / "saved") == [40] and len(list((disk / "saved").iterdir())) == 1, "the old one is gone")
        (disk / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        done = program.start(2, *longer, "--run", folder / "read-only")
        expect(done.returncode == 1 and "Read-only file system" in done.stderr, done.returncode, done.stderr)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        expect("goes on after step 40 " in program.run(2, *longer, "--run", folder / "full"), "resumed")
    finally:
        subprocess.run(["umount", disk], check=True)
