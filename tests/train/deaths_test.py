# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kill -9 of ranks, one after the other down to two, with each optimizer: the others go on, and the loss at the end is
that of runs that nobody disturbed: deaths_test.py ALGORITHMS KADAM_TRAIN LAUNCHER..."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import small_data
from disturbed import ranks_of
from expect import expect
from program import Program, phases_toml

STEPS = 1500
RANKS = 4
DEATHS = 2
SEEDS = 3
program = Program(sys.argv[2:], timeout=120)
algorithms = program.optimizers(sys.argv[1])
chosen = random.Random(5)
# Messages of Kadam's own; and a launcher that lets the others live.
os.environ.update(KADAM_WIRE="tcp", KADAM_TIMEOUT_SECONDS="20")
version = subprocess.run([program.launcher[0], "--version"], capture_output=True, text=True, check=False).stdout
found = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)|Open MPI v?(\d+)", version)
if not found:
    print("skipped: the launcher is not Open MPI's; of others nothing is known about ranks that die")
    sys.exit(77)
surviving = ["--with-ft", "ulfm"] if int(found[1] or found[2]) >= 5 else ["--enable-recovery"]
survivor = Program([program.path, program.launcher[0], *surviving, *program.launcher[1:]])


def step_of(out):
    """The last step that a run has told of."""
    try:
        lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return max((json.loads(line).get("step", 0) for line in lines), default=0)
    except (OSError, ValueError):
        return 0


def loss_of(out):
    return json.loads((out / "run.json").read_text(encoding="utf-8"))["result"]["training_loss"]


def disturbed(options, out):
    """Kills ranks at random moments: what the run says, and how many died before its end."""
    log = out.with_suffix(".log")
    with log.open("w", encoding="utf-8") as file:
        running = subprocess.Popen(survivor.command(RANKS, *options, "--run", out), stdout=file, stderr=file)
        try:
            died = 0
            at = 0
            for _ in range(DEATHS):
                at += chosen.randrange(STEPS // 10, STEPS // 4)
                end = time.monotonic() + 60
                while running.poll() is None and step_of(out) < at and time.monotonic() < end:
                    time.sleep(0.005)
                time.sleep(chosen.random() * 0.02)
                ranks = ranks_of(program, running)
                if running.poll() is not None or len(ranks) < 2:
                    break
                os.kill(chosen.choice(ranks), 9)
                died += 1
                count = len(ranks) - 1
                end = time.monotonic() + 60
                while log.read_text(encoding="utf-8").count("go on after step") < died and running.poll() is None:
                    expect(time.monotonic() < end, f"{count} ranks do not go on", log.read_text(encoding="utf-8"))
                    time.sleep(0.01)
            running.wait(timeout=program.timeout)
        finally:
            running.kill()
    return log.read_text(encoding="utf-8"), died


def seconds_in(text):
    unit = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
    return [float(value) * unit[name]
            for value, name in re.findall(r"go on after step \d+ from a snapshot \(([0-9.]+) (s|ms|us)\)", text)]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS) +
                                   phases_toml(program.known, 100, besides=("onebit_adam",)), encoding="utf-8")
    for algorithm in algorithms:
        common = ["--config", folder / "a.toml", "--set", f"optimizer.name={algorithm}"]
        losses = []
        for seed in range(1, SEEDS + 1):
            whole = folder / f"{algorithm}-{seed}"
            program.run(RANKS, *common, "--set", f"training.seed={seed}", "--run", whole)
            losses.append(loss_of(whole))
        # On a busy machine a run may be done before its ranks are killed: then another one is.
        for attempt in range(5):
            out = folder / f"{algorithm}-disturbed-{attempt}"
            said, died = disturbed([*common, "--set", "training.seed=1", "--snapshot-every", 20, "--snapshot-spread", 3],
                                   out)
            if died == DEATHS:
                break
        expect(died == DEATHS, algorithm, "was done before", died, "ranks had died", said)
        expect("Results:" in said, said)
        took = seconds_in(said)
        expect(len(took) == DEATHS, took, said)
        loss = loss_of(out)
        # Fewer ranks are smaller batches: as far again as seeds are apart, and a tenth.
        limit = max(losses) + (max(losses) - min(losses)) + 0.1 * max(losses) + 0.02
        expect(loss <= limit, algorithm, "ends with loss", loss, "undisturbed", losses, said)
        print(f"{algorithm:<26} {died} of {RANKS} ranks died; the others went on after "
              f"{', '.join(f'{1000 * s:.0f} ms' for s in took)}; loss {loss:.4f}, undisturbed "
              f"{min(losses):.4f} to {max(losses):.4f}", flush=True)
