# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who cannot join ranks that train is told why, and changes nothing; who can, trains with them to the end:
newcomers_test.py KADAM_TRAIN LAUNCHER..."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import small_data
from disturbed import begin, ranks_of, wait_for
from expect import expect
from program import Program

RANKS = 2
program = Program(sys.argv[1:])
os.environ |= {"KADAM_WIRE": "tcp", "KADAM_TIMEOUT_SECONDS": "20"}
SNAPSHOTS = ["--snapshot-every", 5]


def refused(code, words, *options, environment=None):
    done = program.start(0, *options, "--join", environment=environment)
    expect(done.returncode == code and words in done.stderr, options, done.returncode, done.stdout, done.stderr)


def doors_in(run):
    return (run / "doors.txt").read_text(encoding="utf-8").split()


def mistakes_in_words(folder, common):
    refused(2, "needs the --run FOLDER and the --snapshot-every N", *common, "--run", folder / "none")
    refused(2, "needs the --run FOLDER and the --snapshot-every N", *common, *SNAPSHOTS)
    refused(2, "--compare starts several: leave --compare out", *common, *SNAPSHOTS, "--run", folder / "none",
            "--compare", "adam,lamb")
    refused(1, "expected the --run of a job that is training now", *common, *SNAPSHOTS, "--run", folder / "none")
    # A job that was killed has left its addresses.
    (folder / "dead").mkdir()
    (folder / "dead/doors.txt").write_text("127.0.0.1:1\n", encoding="utf-8")
    refused(1, "no rank at 127.0.0.1:1 has let this process in", *common, *SNAPSHOTS, "--run", folder / "dead",
            environment={"KADAM_TIMEOUT_SECONDS": "0.5"})


def others_are_refused_while_all_train(folder, common, run):
    here = [*common, *SNAPSHOTS, "--run", run]
    refused(1, "they have 'd, the number of parameters: ", *here, "--set", "model.hidden=[5]")
    refused(1, "they have 'option 'lr': ", *here, "--set", "optimizer.lr=0.5")
    refused(1, "they have 'batch = ", *here, "--set", "training.batch=3")
    refused(1, "this process has '--checkpoint ", *here, "--checkpoint", folder / "checkpoints")
    refused(1, "they have 'snapshots every 5 steps, spread over 1', "
            "this process has 'snapshots every 6 steps, spread over 1'", *common, "--snapshot-every", 6, "--run", run)
    refused(1, "pieces of 4096 bytes", *here, environment={"KADAM_PIECE_BYTES": "4096"})


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = small_data.write_images(folder / "images")
        # Endless until somebody has come: then the number of steps is a checkpoint's.
        (folder / "a.toml").write_text(small_data.images_toml(data, 10**6, log_every=5, evaluate_every=0), encoding="utf-8")
        common = ["--config", folder / "a.toml", "--set", "optimizer.name=onebit_adam"]
        mistakes_in_words(folder, common)
        run, saved = folder / "run", ["--checkpoint", folder / "saved"]
        running = begin(program, RANKS, *common, *SNAPSHOTS, *saved, "--run", run)
        try:
            wait_for(running, (run / "doors.txt").exists, "addresses")
            expect(len(doors_in(run)) == RANKS)
            others_are_refused_while_all_train(folder, common, run)
            newcomer = subprocess.Popen(program.command(0, *common, *SNAPSHOTS, *saved, "--run", run, "--join"),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            wait_for(running, lambda: len(doors_in(run)) == RANKS + 1, "a newcomer")
            # Told by one, all save and end.
            os.kill(ranks_of(program, running)[0], signal.SIGTERM)
            said, complaints = running.communicate(timeout=program.timeout)
            joined, of_newcomer = newcomer.communicate(timeout=program.timeout)
        finally:
            running.kill()
        expect((running.returncode, newcomer.returncode) == (75, 75), said, complaints, joined, of_newcomer)
        expect(f"{RANKS + 1} ranks go on after step" in said and f"joined as rank {RANKS} of {RANKS + 1}" in joined, said, joined)
        expect(not (run / "doors.txt").exists(), "addresses are left")
        expect(len(list((folder / "saved").glob("step-*"))) == 1, "all have saved together")
        expect("rror" not in complaints, complaints)


main()
