# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each fault with each optimizer: in the end the parameters are those of a run that nobody disturbed, to the last bit:
faults_test.py ALGORITHMS KADAM_TRAIN LAUNCHER..."""
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

import small_data
from disturbed import STOPPED, begin, parameters_of, ranks_of, steps_in, wait_for
from expect import expect
from program import Program, phases_toml

STEPS = 800
EVERY = 20
RANKS = 2
program = Program(sys.argv[2:])
algorithms = program.optimizers(sys.argv[1])
chosen = random.Random(11)


class Run:
    """One optimizer's run, which saves often and goes on from what it saved."""

    def __init__(self, folder, algorithm, fault):
        self.out, self.saved = folder / f"{algorithm}-{fault}", folder / f"{algorithm}-{fault}-saved"
        self.options = ["--config", folder / "a.toml", "--set", f"optimizer.name={algorithm}", "--run", self.out,
                        "--checkpoint", self.saved, "--checkpoint-every", EVERY, "--resume", "auto"]

    def begin(self, *options):
        """Under way, at some step."""
        running = begin(program, RANKS, *self.options, *options)
        some = chosen.randrange(2, 20) * EVERY
        wait_for(running, lambda: (steps_in(self.saved) or [0])[-1] >= some, "a checkpoint")
        time.sleep(chosen.random() * 0.01)
        return running

    def disturb(self, choose, signal_number):
        """Sends the signal to one of its ranks: how it ended, and what it said. On a busy machine a run may be done
        before the signal comes: then it begins anew."""
        for _ in range(10):
            running = self.begin()
            os.kill(choose(ranks_of(program, running)), signal_number)
            said, errors = running.communicate(timeout=50)
            if "Results:" not in said:
                return running.returncode, said, errors
            shutil.rmtree(self.out)
            shutil.rmtree(self.saved)
        sys.exit("ten runs were done before the signal came")

    def end(self):
        """What it says."""
        return program.start(RANKS, *self.options)


def terminated(run):
    """SIGTERM to one rank."""
    code, said, errors = run.disturb(chosen.choice, signal.SIGTERM)
    expect(code == STOPPED, code, said, errors)
    return run.end()


def killed(run):
    """kill -9 of one rank."""
    code, said, errors = run.disturb(chosen.choice, signal.SIGKILL)
    expect(code not in (0, STOPPED), code, said, errors)
    return run.end()


def paused(run):
    """One rank stands still for a moment, and no watchdog minds."""
    running = run.begin()
    rank = chosen.choice(ranks_of(program, running))
    os.kill(rank, signal.SIGSTOP)
    time.sleep(0.1)
    before = steps_in(run.saved)
    time.sleep(0.3)
    expect(steps_in(run.saved) == before, "steps without a rank", before, steps_in(run.saved))
    os.kill(rank, signal.SIGCONT)
    said, errors = running.communicate(timeout=50)
    expect(running.returncode == 0, said, errors)
    return None


def broken(run):
    """A bit of the newest checkpoint turns while nothing runs."""
    run.disturb(lambda ranks: ranks[0], signal.SIGTERM)
    newest = sorted(run.saved.glob("step-*"))[-1]
    file = chosen.choice(sorted(newest.iterdir()))
    content = bytearray(file.read_bytes())
    content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
    file.write_bytes(content)
    done = run.end()
    expect(newest.name in done.stderr and "is skipped" in done.stderr, file, done.stderr)
    return done


def without_folder(run):
    """The folder of checkpoints goes away under the run, and a file is in its place."""
    running = run.begin("--checkpoint-failure", "continue")
    for attempt in range(100):
        os.rename(run.saved, run.saved.with_name(f"away-{attempt}"))
        try:
            run.saved.write_bytes(b"")
            break
        except IsADirectoryError:
            continue  # the run was faster, and has made it anew
    said, errors = running.communicate(timeout=50)
    expect(running.returncode == 0 and "is not saved" in errors, running.returncode, said, errors)
    for away in run.saved.parent.glob("away-*"):
        shutil.rmtree(away)
    return None


FAULTS = {"SIGTERM": terminated, "kill -9": killed, "paused": paused, "broken checkpoint": broken,
          "folder gone": without_folder}

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS) + phases_toml(program.known, 100, besides=("onebit_adam",)))
    for algorithm in algorithms:
        whole = folder / f"{algorithm}-whole"
        program.run(RANKS, "--config", folder / "a.toml", "--set", f"optimizer.name={algorithm}", "--run", whole)
        for fault, happens in FAULTS.items():
            run = Run(folder, algorithm, fault.replace(" ", "-"))
            done = happens(run)
            if done is not None:
                expect(done.returncode == 0 and "goes on after step" in done.stdout, done.stdout, done.stderr)
            expect(parameters_of(run.out) == parameters_of(whole), algorithm, "has other parameters after", fault)
        print(f"{algorithm:<26} {', '.join(FAULTS)}: same parameters", flush=True)
