# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks fail at random moments, one after the other, in runs of each optimizer: the others go on, and the loss at the end
is as of runs that nobody disturbed. Others may take their places: deaths_test.py [--lab NETLAB] ALGORITHMS KADAM_TRAIN LAUNCHER..."""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time

import small_data
from expect import expect
from places import Here, Lab
from program import Program, phases_toml

STEPS = 600
SEEDS = 3
TIMEOUT_SECONDS = 5
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--lab", help="scripts/netlab.sh: each rank on a host of its own, whose cable is cut as well")
parser.add_argument("--ranks", type=int, default=4, help="default: %(default)s")
parser.add_argument("--ranks-per-host", type=int, default=1, help="in a lab; they fail together (default: %(default)s)")
parser.add_argument("--failures", type=int, default=2, help="in a run, one after the other (default: %(default)s)")
parser.add_argument("--moments", type=int, default=0, help="failures of each optimizer in all (default: of one run)")
parser.add_argument("--only-kill", action="store_true", help="neither stop ranks nor cut them off")
parser.add_argument("--come-back", action="store_true", help="another rank takes the place of each")
parser.add_argument("--keep", type=pathlib.Path, help="leave the runs in this folder")
parser.add_argument("--seed", type=int, default=5, help="of the moments (default: %(default)s)")
parser.add_argument("algorithms")
parser.add_argument("program")
parser.add_argument("launcher", nargs=argparse.REMAINDER)
given = parser.parse_args()
RANKS, FAILURES, TOGETHER = given.ranks, given.failures, given.ranks_per_host if given.lab else 1
program = Program([given.program, *given.launcher], timeout=120)
algorithms = program.optimizers(given.algorithms)
chosen = random.Random(given.seed)
# Messages of Kadam's own, unless MPI tolerates faults; and a launcher that lets the others live.
os.environ.setdefault("KADAM_WIRE", "tcp")
os.environ["KADAM_TIMEOUT_SECONDS"] = str(TIMEOUT_SECONDS)


def step_of(out):
    """The last step that a run has told of."""
    try:
        lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return max((json.loads(line).get("step", 0) for line in lines[-3:]), default=0)
    except (OSError, ValueError):
        return 0


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def loss_of(out):
    """Of the last tenth of the steps."""
    return json.loads((out / "run.json").read_text(encoding="utf-8"))["result"]["training_loss"]


class Disturbed:
    """A run in which ranks fail."""

    def __init__(self, place, options, out):
        self.place, self.out, self.log = place, out, out.with_suffix(".log")
        self.options = [*options, "--run", out]
        self.times = {}  # by kind: seconds from the failure to the next step
        with self.log.open("w", encoding="utf-8") as file:
            self.running = subprocess.Popen(place.command(*self.options), stdout=file, stderr=file)
            try:
                at = 0
                for death in range(FAILURES):
                    at = max(at, step_of(out)) + chosen.randrange(STEPS // 12, STEPS // 4)
                    if not self.fail(death, at):
                        break
                self.wait_for_the_end()
                self.wait_for_newcomers()
            finally:
                self.running.kill()
                place.end_newcomers()

    @property
    def said(self):
        return self.log.read_text(encoding="utf-8")

    @property
    def failed(self):
        return sum(map(len, self.times.values()))

    def wait(self, condition, seconds=60):
        """Until it holds, or the run has ended; False: neither."""
        end = time.monotonic() + seconds
        while not condition() and self.running.poll() is None:
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    def ranks_that_go_on(self):
        return int((re.findall(r"\b(\d+)(?: of \d+)? ranks go on after step", self.said) or [RANKS])[-1])

    def fail(self, death, at):
        """False: the run was done before."""
        self.wait(lambda: step_of(self.out) >= at)
        time.sleep(chosen.random() * 0.02)
        ranks = self.place.ranks(self.running)
        expected = RANKS if given.come_back else RANKS - death * TOGETHER
        if self.running.poll() is not None or len(ranks) != expected or step_of(self.out) >= STEPS:
            return False
        kind = "killed" if given.only_kill else chosen.choice(self.place.kinds)
        pids = self.place.all_with(chosen.choice(self.place.may_fail(kind, ranks)))
        begun = time.monotonic()
        self.place.fail(kind, pids)
        try:
            went_on = self.wait(lambda: self.ranks_that_go_on() == expected - TOGETHER)
            expect(went_on, f"{len(pids)} of {len(ranks)} ranks were {kind}: the others do not go on\n", self.said)
            told = size_of(self.out / "metrics.jsonl")
            self.wait(lambda: size_of(self.out / "metrics.jsonl") > told)
            self.times.setdefault(kind, []).append(time.monotonic() - begun)
        finally:
            self.place.end(kind, pids)
        if kind != "killed":  # they find out that they were left behind, and end
            self.wait(lambda: len(self.place.ranks(self.running)) <= len(ranks) - TOGETHER)
        return not given.come_back or self.replace(pids)

    def replace(self, gone):
        """Others come in the places of those who are gone. False: the run was done before."""
        for pid in gone:
            self.place.come(pid, self.log.with_suffix(".newcomers"), *self.options)
        came = self.wait(lambda: self.ranks_that_go_on() == RANKS)
        expect(came, "newcomers are not taken in\n", self.said)
        return self.ranks_that_go_on() == RANKS

    def pauses(self):
        """Seconds in which newcomers were taken in."""
        found = re.findall(r"ranks go on after step \d+, there were \d+ before \((\S+) (\S+)\)", self.said)
        return [float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit] for number, unit in found]

    def wait_for_the_end(self):
        """Of all ranks: Open MPI's launcher may wait for ever for those that it has lost."""
        end = time.monotonic() + program.timeout
        while self.running.poll() is None and self.place.ranks(self.running):
            expect(time.monotonic() < end, "the run does not end\n", self.said)
            time.sleep(0.1)

    def wait_for_newcomers(self):
        """They end as those do who were there before them, but for those who were made to fail."""
        codes = sorted(one.wait(timeout=20) for one in self.place.newcomers)
        expect(len([code for code in codes if code == 0]) >= len(codes) - self.failed * TOGETHER, "newcomers ended with", codes)


def summary_of(times):
    """As in: killed 12 (20 to 45 ms)."""
    return ", ".join(f"{kind} {len(seconds)} ({1000 * min(seconds):.0f} to {1000 * max(seconds):.0f} ms)"
                     for kind, seconds in sorted(times.items()))


def came_back(pauses):
    return f"as many came back ({1000 * min(pauses):.0f} to {1000 * max(pauses):.0f} ms); " if pauses else ""


def train(place, folder, algorithm):
    common = ["--config", folder / "a.toml", "--set", f"optimizer.name={algorithm}"]
    # With all ranks, and with those that are left in the end, whose batches are smaller.
    losses = []
    for ranks in (RANKS,) if given.come_back else (RANKS, RANKS - FAILURES * TOGETHER):
        for seed in range(1, SEEDS + 1):
            whole = folder / f"{algorithm}-{ranks}-{seed}"
            program.run(ranks, *common, "--set", f"training.seed={seed}", "--run", whole)
            losses.append(loss_of(whole))
    limit = max(losses) + 2 * (max(losses) - min(losses))
    times, pauses, ends, early = {}, [], [], 0
    while sum(map(len, times.values())) < max(given.moments, 1):
        options = ["--set", "training.seed=1", "--snapshot-every", 20, "--snapshot-spread", 3]
        run = Disturbed(place, [*common, *options], folder / f"{algorithm}-disturbed-{len(ends)}-{early}")
        if run.failed < FAILURES:  # on a busy machine a run may be done before
            early += 1
            expect(early < 5, algorithm, "was done before", run.failed, "ranks had failed", run.said)
            continue
        expect("Results:" in run.said, run.said)
        ends.append(loss_of(run.out))
        expect(ends[-1] <= limit, algorithm, "ends with loss", ends[-1], "undisturbed", losses, run.said)
        pauses += run.pauses()
        for kind, seconds in run.times.items():
            times.setdefault(kind, []).extend(seconds)
    print(f"{algorithm:<26} {len(ends)} runs, {sum(map(len, times.values()))} failures survived: {summary_of(times)}; "
          f"{came_back(pauses)}loss {min(ends):.3f} to {max(ends):.3f}, undisturbed {min(losses):.3f} to {max(losses):.3f}",
          flush=True)


with tempfile.TemporaryDirectory() as name:
    folder = given.keep or pathlib.Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    # Labels that are wrong in part keep the loss from 0, where nothing could be compared.
    data = small_data.write_images(folder / "images", training=4096, mislabelled=0.3)
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS, log_every=1, evaluate_every=0) +
                                   phases_toml(program.known, 100, besides=("onebit_adam",)), encoding="utf-8")
    place = Lab(program, RANKS, given.lab, TOGETHER) if given.lab else Here(program, RANKS)
    try:
        for algorithm in algorithms:
            train(place, folder, algorithm)
    finally:
        place.close()
