# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a test of ctest with a fault or without one, and leaves no process behind."""
import ctypes
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
TAG = "KADAM_MUTANT_TRIAL"
LEAST_SECONDS = 20.0
TIMES_THE_USUAL = 8.0
GONE_SECONDS = 10.0
# How GoogleTest, and tests/support/mpi_main.cpp for several ranks, name a test that failed.
FAILED = re.compile(r"^\[  FAILED  \] ([\w/.]+)|^(\S+) failed on another rank", re.MULTILINE)


def adopt_orphans():
    """Makes this process the parent of orphans, so that it finds and ends what a killed mpirun leaves behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants():
    """Numbers of all processes that descend from this one."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(path.parent.name))
    found, queue = [], [os.getpid()]
    while queue:
        own = children.get(queue.pop(), [])
        queue += own
        found += own
    return found


def end_processes(tag=None, spared=None):
    """Ends those of one trial, or all, and waits until they are gone; for the one that is spared, others wait."""
    wanted = None if tag is None else f"{TAG}={tag}".encode()
    killed = []
    for pid in descendants():
        try:
            if wanted is None or wanted in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        except OSError:
            continue
    end = time.monotonic() + GONE_SECONDS
    left = [pid for pid in killed if pid != spared]
    while left and time.monotonic() < end:
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # not ours yet, or no more
                continue
        left = [pid for pid in left if os.path.exists(f"/proc/{pid}")]
        time.sleep(0.01)


@dataclasses.dataclass
class Outcome:
    """Result of a trial. how: why it does not pass, in words; empty if it passes. skipped: the machine lacks something
    that the test needs. empty: the filter matches no test."""
    passes: bool
    how: str
    seconds: float
    skipped: bool = False
    empty: bool = False
    log: pathlib.Path | None = None


def wait_for(running, limit, log):
    """Waits; returns the exit code, 1 as soon as the log names a failed test, or None if it hangs."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            return running.wait(0.1)
        except subprocess.TimeoutExpired:
            if FAILED.search(log.read_text(encoding="utf-8", errors="replace")):
                return 1
    return None


class Runner:
    """Knows the tests, how long they take without a fault, and where their output goes."""

    def __init__(self, tests, output):
        self.tests = tests
        self.output = output
        self.usual_seconds = {}
        self.count = 0
        self.lock = threading.Lock()
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)

    def baseline(self, name, gtest_filter):
        """The test without a fault, once for each filter."""
        outcome = self.run(name, gtest_filter, None)
        self.usual_seconds[name, gtest_filter] = outcome.seconds
        return outcome

    def run(self, name, gtest_filter, fault):
        test = self.tests[name]
        with self.lock:
            self.count += 1
            tag = f"{os.getpid()}-{self.count}"
        label = f"{fault}.{name}" if fault else f"none-{tag.rpartition('-')[2]}.{name}"
        log = self.output / f"{label}.log"
        reached = self.output / f"{label}.reached"
        reached.unlink(missing_ok=True)
        environment = {**os.environ, TAG: tag, "GTEST_COLOR": "no"}
        environment.update(line.split("=", 1) for line in test.get("ENVIRONMENT", []))
        if gtest_filter:
            environment["GTEST_FILTER"] = gtest_filter
        if fault:
            environment.update(KADAM_MUTANT=fault, KADAM_MUTANT_REACHED=str(reached))
        limit = float(test.get("TIMEOUT", 600))
        if fault:
            limit = min(limit, max(LEAST_SECONDS, TIMES_THE_USUAL * self.usual_seconds[name, gtest_filter]))
        begin = time.monotonic()
        with open(log, "wb") as out:
            running = subprocess.Popen(test["command"], cwd=test.get("WORKING_DIRECTORY"), env=environment,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            try:
                code = wait_for(running, limit, log)
            finally:
                end_processes(tag, running.pid)
                running.wait()
        seconds = time.monotonic() - begin
        outcome = judge(test, code, log.read_text(encoding="utf-8", errors="replace"), seconds)
        return dataclasses.replace(outcome, log=log)

    def was_reached(self, fault):
        return any(self.output.glob(f"{fault}.*.reached"))


def judge(test, code, text, seconds):
    if code is None:
        return Outcome(False, f"it hangs ({seconds:.0f} s)", seconds)
    if "SKIP_RETURN_CODE" in test and code == test["SKIP_RETURN_CODE"]:
        return Outcome(False, "it is skipped here", seconds, skipped=True)
    patterns = test.get("PASS_REGULAR_EXPRESSION", [])
    passes = any(re.search(pattern, text) for pattern in patterns) if patterns else code == 0
    if not passes:
        failed = FAILED.search(text)
        if failed:
            return Outcome(False, failed.group(1) or failed.group(2), seconds)
        return Outcome(False, f"signal {-code}" if code < 0 else f"exit code {code}", seconds)
    if re.search(r"\[==========\] Running 0 tests", text):
        return Outcome(False, "its filter matches no test", seconds, empty=True)
    return Outcome(True, "", seconds)
