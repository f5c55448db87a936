# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks fail at random moments, one after the other, in runs of each optimizer: the others go on, and the loss at the end
is as of runs that nobody disturbed: deaths_test.py [--lab NETLAB] ALGORITHMS KADAM_TRAIN LAUNCHER..."""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import small_data
from disturbed import ranks_of, runs_of_lab
from expect import expect
from program import Program, phases_toml

STEPS = 600
SEEDS = 3
TIMEOUT_SECONDS = 5
SKIPPED = 77
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--lab", help="scripts/netlab.sh: each rank on a host of its own, whose cable is cut as well")
parser.add_argument("--ranks", type=int, default=4, help="default: %(default)s")
parser.add_argument("--failures", type=int, default=2, help="in a run, one after the other (default: %(default)s)")
parser.add_argument("--moments", type=int, default=0, help="failures of each optimizer in all (default: of one run)")
parser.add_argument("--only-kill", action="store_true", help="neither stop ranks nor cut them off")
parser.add_argument("--keep", type=pathlib.Path, help="leave the runs in this folder")
parser.add_argument("--seed", type=int, default=5, help="of the moments (default: %(default)s)")
parser.add_argument("algorithms")
parser.add_argument("program")
parser.add_argument("launcher", nargs=argparse.REMAINDER)
given = parser.parse_args()
RANKS, FAILURES = given.ranks, given.failures
program = Program([given.program, *given.launcher], timeout=120)
algorithms = program.optimizers(given.algorithms)
chosen = random.Random(given.seed)
# Messages of Kadam's own, unless MPI tolerates faults; and a launcher that lets the others live.
os.environ.setdefault("KADAM_WIRE", "tcp")
os.environ["KADAM_TIMEOUT_SECONDS"] = str(TIMEOUT_SECONDS)


def surviving_launcher():
    """What Open MPI's mpirun wants to be told."""
    version = subprocess.run([program.launcher[0], "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)|Open MPI v?(\d+)", version)
    if not found:
        print("skipped: the launcher is not Open MPI's; of others nothing is known about ranks that die")
        sys.exit(SKIPPED)
    return ["--with-ft", "ulfm"] if int(found[1] or found[2]) >= 5 else ["--enable-recovery"]


class Here:
    """All ranks on this host."""

    # Those that are not killed are waited for, some seconds each.
    kinds = ("killed",) * 18 + ("stopped",)

    def __init__(self):
        self.survivor = Program([program.path, program.launcher[0], *surviving_launcher(), *program.launcher[1:]])

    def command(self, *options):
        return self.survivor.command(RANKS, *options)

    def ranks(self, running):
        return ranks_of(program, running)

    def may_fail(self, kind, ranks):
        """Those of the ranks that this may happen to."""
        return ranks

    def fail(self, kind, pid):
        os.kill(pid, signal.SIGKILL if kind == "killed" else signal.SIGSTOP)

    def end(self, kind, pid):
        """Once the others have gone on."""
        if kind == "stopped":
            os.kill(pid, signal.SIGKILL)

    def close(self):
        pass


class Lab(Here):
    """Each rank on a host of its own."""

    kinds = ("killed",) * 18 + ("stopped", "cut off")

    def __init__(self, netlab):
        self.netlab, self.name = netlab, f"death{os.getpid()}"[:16]
        up = self.call("up", "--hosts", RANKS, check=False)
        if up.returncode == SKIPPED:
            print(up.stderr.strip())
            sys.exit(SKIPPED)
        expect(up.returncode == 0, up.stderr)

    def call(self, command, *words, check=True):
        return subprocess.run([self.netlab, command, "--name", self.name, *map(str, words)], capture_output=True,
                              text=True, timeout=60, check=check)

    def command(self, *options):
        words = [self.netlab, "run", "--name", self.name, "--mpirun-args", " ".join(surviving_launcher()), "--",
                 program.path]
        return [*words, *map(str, options)]

    def ranks(self, running):
        self.hosts = runs_of_lab(self.name, RANKS, program.path)
        return sorted(self.hosts)

    def may_fail(self, kind, ranks):
        # From the first host the launcher says what happens.
        return [pid for pid in ranks if self.hosts[pid] > 0 or kind != "cut off"]

    def fail(self, kind, pid):
        if kind == "cut off":
            self.call("exec", self.hosts[pid], "--", "ip", "link", "set", "eth0", "down")
        else:
            super().fail(kind, pid)

    def end(self, kind, pid):
        if kind == "cut off":
            self.call("exec", self.hosts[pid], "--", "ip", "link", "set", "eth0", "up")
        else:
            super().end(kind, pid)

    def close(self):
        self.call("down")


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
        self.times = {}  # by kind: seconds from the failure to the next step
        with self.log.open("w", encoding="utf-8") as file:
            self.running = subprocess.Popen(place.command(*options, "--run", out), stdout=file, stderr=file)
            try:
                at = 0
                for death in range(FAILURES):
                    at = max(at, step_of(out)) + chosen.randrange(STEPS // 12, STEPS // 4)
                    if not self.fail(death, at):
                        break
                self.running.wait(timeout=program.timeout)
            finally:
                self.running.kill()

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

    def fail(self, death, at):
        """False: the run was done before."""
        self.wait(lambda: step_of(self.out) >= at)
        time.sleep(chosen.random() * 0.02)
        ranks = self.place.ranks(self.running)
        if self.running.poll() is not None or len(ranks) != RANKS - death or step_of(self.out) >= STEPS:
            return False
        kind = "killed" if given.only_kill else chosen.choice(self.place.kinds)
        pid = chosen.choice(self.place.may_fail(kind, ranks))
        begun = time.monotonic()
        self.place.fail(kind, pid)
        try:
            went_on = self.wait(lambda: self.said.count("go on after step") > death)
            expect(went_on, f"one of {len(ranks)} ranks was {kind}: the others do not go on\n", self.said)
            told = size_of(self.out / "metrics.jsonl")
            self.wait(lambda: size_of(self.out / "metrics.jsonl") > told)
            self.times.setdefault(kind, []).append(time.monotonic() - begun)
        finally:
            self.place.end(kind, pid)
        if kind != "killed":  # it finds out that it was left behind, and ends
            self.wait(lambda: len(self.place.ranks(self.running)) < len(ranks))
        return True


def summary_of(times):
    """As in: killed 12 (20 to 45 ms)."""
    return ", ".join(f"{kind} {len(seconds)} ({1000 * min(seconds):.0f} to {1000 * max(seconds):.0f} ms)"
                     for kind, seconds in sorted(times.items()))


def train(place, folder, algorithm):
    common = ["--config", folder / "a.toml", "--set", f"optimizer.name={algorithm}"]
    # With all ranks, and with those that are left in the end, whose batches are smaller.
    losses = []
    for ranks in (RANKS, RANKS - FAILURES):
        for seed in range(1, SEEDS + 1):
            whole = folder / f"{algorithm}-{ranks}-{seed}"
            program.run(ranks, *common, "--set", f"training.seed={seed}", "--run", whole)
            losses.append(loss_of(whole))
    limit = max(losses) + 2 * (max(losses) - min(losses))
    times, ends, early = {}, [], 0
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
        for kind, seconds in run.times.items():
            times.setdefault(kind, []).extend(seconds)
    print(f"{algorithm:<26} {len(ends)} runs, {sum(map(len, times.values()))} failures survived: {summary_of(times)}; "
          f"loss {min(ends):.3f} to {max(ends):.3f}, undisturbed {min(losses):.3f} to {max(losses):.3f}",
          flush=True)


with tempfile.TemporaryDirectory() as name:
    folder = given.keep or pathlib.Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    # Labels that are wrong in part keep the loss from 0, where nothing could be compared.
    data = small_data.write_images(folder / "images", training=4096, mislabelled=0.3)
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS, log_every=1, evaluate_every=0) +
                                   phases_toml(program.known, 100, besides=("onebit_adam",)), encoding="utf-8")
    place = Lab(given.lab) if given.lab else Here()
    try:
        for algorithm in algorithms:
            train(place, folder, algorithm)
    finally:
        place.close()
