# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stopped and killed runs end with the same parameters as those that nobody disturbed: checkpoint_test.py
KADAM_TRAIN LAUNCHER..."""
import json
import os
import pathlib
import signal
import sys
import tempfile

import small_data
from disturbed import STOPPED, begin, parameters_of, ranks_of, steps_in, wait_for
from expect import expect
from program import Program, metrics

STEPS = 40
program = Program(sys.argv[1:])


def losses(folder):
    lines, held_out = metrics(folder)
    return [(l["step"], l["loss"]) for l in lines], [(l["step"], l["held_out_loss"]) for l in held_out]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS))
    config = ["--config", folder / "a.toml", "--set", "optimizer.name=onebit_adam"]

    def undisturbed(run, ranks, *options):
        program.run(ranks, *config, "--run", folder / run, *options)
        return folder / run

    def slowly(run, *options):
        """Many steps, which take a while, with a checkpoint at every twentieth."""
        return [*config, "--set", "training.steps=4000", "--set", "training.log_every=500", "--set",
                "training.evaluate_every=0", "--run", folder / run, "--checkpoint", folder / f"{run}-saved",
                "--checkpoint-every", "20", "--resume", "auto", *options]

    # Stopped by the clock of rank 0 before the first step, after each step and at the end.
    whole = undisturbed("whole", 2)
    saving = ["--checkpoint", folder / "kept", "--checkpoint-keep", "0", "--checkpoint-every", "9"]
    program.run(2, *config, "--run", folder / "saving", *saving)
    expect(steps_in(folder / "kept") == [9, 18, 27, 36, 40], steps_in(folder / "kept"))
    expect(parameters_of(folder / "saving") == parameters_of(whole), "saving changed the parameters")
    for step in 9, 18, 36, 40:
        run = folder / f"from-{step}"
        text = program.run(2, *config, "--run", run, "--resume", folder / "kept" / f"step-{step:012d}")
        expect(f"goes on after step {step} " in text, text)
        expect(parameters_of(run) == parameters_of(whole), "other parameters than without interruption, from", step)
        expect(losses(run)[0] == [one for one in losses(whole)[0] if one[0] > step], losses(run))

    # A wall time of a moment: one step at a time, until the last.
    stops = 0
    while True:
        done = program.start(2, *config, "--run", folder / "clock", "--checkpoint", folder / "clock-saved", "--resume",
                             "auto", "--walltime", "0.001s", "--set", "training.steps=4")
        if done.returncode == 0:
            break
        expect(done.returncode == STOPPED, done.returncode, done.stdout, done.stderr)
        stops += 1
        expect(stops < 5 and f"stopped after step {stops} of 4" in done.stdout, done.stdout)
    expect(stops == 3, stops)
    expect(parameters_of(folder / "clock") == parameters_of(undisturbed("four", 2, "--set", "training.steps=4")), "clock")
    expect(losses(folder / "clock") == losses(folder / "four"), losses(folder / "clock"), losses(folder / "four"))

    # A signal to one rank alone; kill -9 of one; then on to the end.
    expected = undisturbed("long", 2, "--set", "training.steps=4000", "--set", "training.log_every=500", "--set",
                           "training.evaluate_every=0")
    for number in signal.SIGTERM, signal.SIGUSR1:
        running = begin(program, 2, *slowly("disturbed"))
        before = len(steps_in(folder / "disturbed-saved")) and steps_in(folder / "disturbed-saved")[-1]
        wait_for(running, lambda: [s for s in steps_in(folder / "disturbed-saved") if s > before], "a checkpoint")
        os.kill(ranks_of(program, running)[1], number)
        said, errors = running.communicate(timeout=50)
        expect(running.returncode == STOPPED, running.returncode, said, errors)
        expect("stopped after step" in said, said)
    running = begin(program, 2, *slowly("disturbed"))
    before = steps_in(folder / "disturbed-saved")[-1]
    wait_for(running, lambda: steps_in(folder / "disturbed-saved")[-1] > before, "a checkpoint")
    os.kill(ranks_of(program, running)[1], signal.SIGKILL)
    running.communicate(timeout=50)
    expect(running.returncode not in (0, STOPPED), running.returncode)
    said = program.run(2, *slowly("disturbed"))
    expect("goes on after step" in said, said)
    expect(parameters_of(folder / "disturbed") == parameters_of(expected), "other parameters than if never disturbed")
    expect(losses(folder / "disturbed") == losses(expected), losses(folder / "disturbed"), losses(expected))
    expect(len(steps_in(folder / "disturbed-saved")) == 2, steps_in(folder / "disturbed-saved"))

    # The newest is broken: the one before is taken, and that is said.
    newest = sorted((folder / "kept").glob("step-*"))[-1]
    state = newest / "state-1-of-2.safetensors"
    state.write_bytes(state.read_bytes()[:-1] + b"?")
    done = program.start(2, *config, "--run", folder / "older", "--checkpoint", folder / "kept", "--resume", "auto",
                         "--checkpoint-keep", "0")
    expect(done.returncode == 0 and "goes on after step 36" in done.stdout, done.stdout, done.stderr)
    expect(newest.name in done.stderr and "is skipped" in done.stderr, done.stderr)
    expect(parameters_of(folder / "older") == parameters_of(whole), "other parameters from an older checkpoint")

    # Several optimizers, the second one stopped, on other numbers of ranks; and one that takes over from another.
    both = ["--config", folder / "a.toml", "--compare", "adam,onebit_adam", "--run", folder / "both", "--checkpoint",
            folder / "both-saved", "--resume", "auto"]
    program.run(4, *both, "--set", "training.steps=20")
    said = program.run(2, *both)
    expect(said.count("goes on after step 20") == 2, said)
    report = json.loads((folder / "both" / "comparison.json").read_text())
    expect([run["steps"] for run in report] == [STEPS, STEPS], report)
    expect(all(run["held_out_accuracy"] > 0.9 for run in report), report)
    said = program.run(2, *config, "--run", folder / "taken", "--resume",
                       folder / "kept" / "step-000000000009", "--set", "optimizer.name=adam")
    expect("goes on after step 9 " in said, said)

    # What contradicts itself, cannot be written, or is not there is said in words, before or without loss.
    def refused(code, words, *options):
        done = program.start(2, *config, "--run", folder / "refused", *options)
        expect(done.returncode == code and words in done.stderr, options, done.returncode, done.stderr)

    refused(2, "--checkpoint-every needs a folder", "--checkpoint-every", "5")
    refused(2, "--resume auto needs a folder", "--resume", "auto")
    refused(2, "--stop-on needs a folder", "--stop-on", "USR2")
    refused(2, "a duration, as in 90s", "--checkpoint", folder / "x", "--checkpoint-every", "5 parsecs")
    refused(2, "--stop-on SIGKILL: expected signals", "--checkpoint", folder / "x", "--stop-on", "SIGKILL")
    expect(not (folder / "refused").exists() and not (folder / "x").exists(), "a mistake has left folders")
    refused(1, "MANIFEST: expected a file that can be read, found none", "--resume", folder / "nowhere")
    refused(2, "x: the folder cannot be made", "--checkpoint", folder / "a.toml" / "x")
    done = program.start(2, *config, "--run", folder / "unsaved", "--checkpoint", folder / "a.toml" / "x",
                         "--checkpoint-failure", "continue")
    expect(done.returncode == 0 and "is not saved" in done.stderr, done.returncode, done.stderr)
    expect(parameters_of(folder / "unsaved") == parameters_of(whole), "other parameters when nothing could be saved")

    # A rank that stands still is named, with the step, and the job ends.
    running = begin(program, 2, *slowly("stopped", "--watchdog", "2s"))
    wait_for(running, lambda: steps_in(folder / "stopped-saved"), "a checkpoint")
    for stopped in 1, 0:
        os.kill(ranks_of(program, running)[stopped], signal.SIGSTOP)
        said, errors = running.communicate(timeout=50)
        expect(running.returncode == 1 and "stands still after step" in errors, running.returncode, said, errors)
        expect(" has been silent for " in errors and "its last step was" in errors, errors)
        if stopped:
            running = begin(program, 2, *slowly("stopped", "--watchdog", "2s"))
            before = steps_in(folder / "stopped-saved")[-1]
            wait_for(running, lambda: steps_in(folder / "stopped-saved")[-1] > before, "a checkpoint")
