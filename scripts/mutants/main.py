# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries the faults of tests/mutants/ against the tests that should see them; called by scripts/mutants.sh."""
import argparse
import concurrent.futures
import datetime
import fnmatch
import os
import signal
import sys

import catalogue
import tree
import trial
import verdicts

FAULTS = tree.ROOT / "tests" / "mutants"


def stop(text):
    sys.exit(f"kadam: {text}")


def parse_arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", nargs="?", const="", metavar="BUILD")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--today", action="store_true")
    parser.add_argument("--everything", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        stop(f"--jobs needs a number of 1 or more, not {arguments.jobs}.")
    return arguments


def select(faults, arguments):
    if arguments.only:
        return catalogue.chosen(faults, arguments.only)
    if arguments.today:
        return [faults[datetime.date.today().toordinal() % len(faults)]]
    return faults


def print_list(faults):
    width = max(len(fault.name) for fault in faults)
    for fault in faults:
        print(f"{fault.name:<{width}}  {fault.file}: {fault.why}")


def check(faults, build):
    """Checks that the catalogue fits the sources: each fault has its place, its tests exist, no folder is left out."""
    errors = []
    if len(faults) < catalogue.LEAST_FAULTS:
        errors.append(f"there are {len(faults)} faults, expected {catalogue.LEAST_FAULTS} or more")
    by_file = {}
    for fault in faults:
        by_file.setdefault(fault.file, []).append(fault)
    for name, own in by_file.items():
        path = tree.ROOT / name
        if not path.is_file():
            errors.append(f"{', '.join(fault.name for fault in own)}: there is no file {name}")
            continue
        text = path.read_text(encoding="utf-8")
        wrong = len(errors)
        for fault in own:
            try:
                catalogue.place_of(fault, text)
            except catalogue.CatalogueError as error:
                errors.append(str(error))
        if len(errors) == wrong:
            try:
                catalogue.apply(own, text)
            except catalogue.CatalogueError as error:
                errors.append(str(error))
    folders = [folder for folder in (tree.ROOT / "src" / "kadam").iterdir() if any(folder.glob("*.[ch]pp"))]
    for folder in [*folders, tree.ROOT / "kernels" / "kadam" / "kernels"]:
        relative = str(folder.relative_to(tree.ROOT))
        if not any(os.path.dirname(name) == relative for name in by_file):
            errors.append(f"no fault is in {relative}")
    if build:
        tests = tree.read_tests(build)
        errors += [f"{fault.name}: there is no test {pattern}" for fault in faults for pattern in fault.tests
                   if not matching(tests, pattern)]
    for error in errors:
        print(f"kadam: {error}")
    print(f"{len(faults)} faults in {len(by_file)} files, {len(errors)} mistakes")
    return 1 if errors else 0


def matching(tests, pattern):
    return sorted(fnmatch.filter(tests, pattern))


class Trials:
    """The tests to run for each fault, with their results without a fault."""

    def __init__(self, faults, arguments):
        sources = tree.copy_with_faults(catalogue.read_faults(FAULTS))
        jobs = arguments.jobs
        say(f"Building the tests of {len(faults)} fault{'s' * (len(faults) != 1)} in {tree.FOLDER}.")
        tree.configure(jobs)
        tests = tree.read_tests(tree.BUILD)
        self.runs = {fault.name: self.runs_of(fault, tests, arguments.everything) for fault in faults}
        self.kept = verdicts.Verdicts(tree.FOLDER / "verdicts.jsonl", sources, without=arguments.again)
        self.plan = {fault: list(runs) for fault, runs in self.runs.items() if not self.kept.find(fault, runs)}
        needed = sorted({name for runs in self.plan.values() for name, _ in runs})
        tree.build(sorted(set().union(*(tree.targets_of(tests[name], name) for name in needed))), jobs)
        # Most tests have several ranks: half as many at a time as there are cores.
        self.pool = concurrent.futures.ThreadPoolExecutor(max(1, jobs // 2))
        self.runner = trial.Runner(tree.read_tests(tree.BUILD), tree.FOLDER / "output")

    @staticmethod
    def runs_of(fault, tests, everything):
        names = [name for pattern in fault.tests for name in matching(tests, pattern)]
        if not names:
            raise catalogue.CatalogueError(f"{fault.name}: there is no test {' or '.join(fault.tests)}")
        if not everything:
            return [(name, fault.filter) for name in dict.fromkeys(names)]
        labels = {label for name in names for label in tests[name].get("LABELS", [])} - {"serial", "mpi"}
        return [(name, "") for name, test in tests.items() if labels & set(test.get("LABELS", []))]

    def run_without_faults(self):
        """Runs all tests without a fault. All must pass, or later results mean nothing; a test that is skipped here
        catches nothing. Returns the names of the faults that have no other test, each with the reason."""
        runs = list(dict.fromkeys(run for runs in self.plan.values() for run in runs))
        problems, untried = [], {}
        for k, (run, outcome) in enumerate(zip(runs, self.pool.map(lambda run: self.runner.baseline(*run), runs))):
            progress(f"without a fault, {k + 1} of {len(runs)}")
            problem = leave_out(self.plan, untried, run, outcome)
            problems += [problem] if problem else []
        progress("")
        if problems:
            raise tree.BuildError("\nkadam: ".join(problems))
        return untried

    def try_fault(self, fault, everything):
        """Returns the tests that catch a fault, as texts, and the seconds spent."""
        caught, seconds = [], 0.0
        for name, gtest_filter in self.plan[fault]:
            outcome = self.runner.run(name, gtest_filter, fault)
            seconds += outcome.seconds
            if not outcome.passes:
                caught.append(f"{name}: {outcome.how}")
                if not everything:
                    break
        return caught, seconds


def leave_out(plan, untried, run, outcome):
    """Takes a run that does not pass without a fault out of the plan. Returns what is wrong with it, as a text; nothing
    if it passes, if the machine lacks something that it needs, or if its filter matches no test and others are left.
    Faults without another run go from the plan to `untried`, with the reason."""
    if outcome.passes:
        return None
    concerned = [fault for fault, own in plan.items() if run in own]
    for fault in concerned:
        plan[fault].remove(run)
    blind = [fault for fault in concerned if not plan[fault]]
    if outcome.skipped:
        for fault in blind:
            del plan[fault]
            untried[fault] = f"{run[0]} is skipped here"
        return None
    if outcome.empty and not blind:
        return None
    where = f" with the filter {run[1]}" if run[1] else ""
    return (f"the test {run[0]}{where}, for {', '.join(blind or concerned)}, does not pass without a fault: "
            f"{outcome.how}; its output is in {outcome.log}")


def say(text):
    print(f"kadam: {text}", flush=True)


def progress(text):
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text[:100]}", end="", flush=True)


def try_all(faults, arguments):
    trials = Trials(faults, arguments)
    width = max(len(fault.name) for fault in faults)
    for fault, runs in trials.runs.items():
        if fault not in trials.plan:
            print(f"{fault:<{width}}  caught before by {'; '.join(trials.kept.find(fault, runs))}", flush=True)
    untried = trials.run_without_faults()
    missed = []
    for k, (fault, (caught, seconds)) in enumerate(zip(trials.plan, trials.pool.map(
            lambda fault: trials.try_fault(fault, arguments.everything), trials.plan))):
        progress("")
        if caught:
            trials.kept.keep(fault, trials.runs[fault], caught)
        else:
            missed.append(fault)
        verdict = "caught by " + "; ".join(caught) if caught else "MISSED"
        print(f"{fault:<{width}}  {verdict}  ({seconds:.1f} s)", flush=True)
        progress(f"{k + 1} of {len(trials.plan)} tried, {len(missed)} missed")
    progress("")
    for fault in faults:
        if fault.name in untried:
            print(f"NOT TRIED {fault.name}: {untried[fault.name]}")
        if fault.name in missed:
            reached = "its code ran" if trials.runner.was_reached(fault.name) else "its code never ran"
            print(f"MISSED {fault.name} ({reached} in {', '.join(fault.tests)}): {fault.file}: {fault.why}")
    tried = len(faults) - len(untried)
    rest = f", {len(untried)} not tried" if untried else ""
    print(f"{tried - len(missed)} of {tried} caught{rest}")
    return 1 if missed else 0


def run():
    arguments = parse_arguments()
    faults = catalogue.read_faults(FAULTS)
    if arguments.check is not None:
        return check(faults, arguments.check)
    faults = select(faults, arguments)
    if arguments.list:
        print_list(faults)
        return 0
    trial.adopt_orphans()
    return try_all(faults, arguments)


def main():
    # A job that is told to end leaves as little behind as one that is interrupted; in the background of a script, too.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        code = run()
    except (catalogue.CatalogueError, tree.BuildError) as error:
        print(f"kadam: {error}", file=sys.stderr, flush=True)
        trial.end_processes()
        os._exit(1)
    except KeyboardInterrupt:
        trial.end_processes()
        os._exit(130)  # threads that wait for a test are not waited for
    except BrokenPipeError:
        code = 0
    sys.exit(code)


if __name__ == "__main__":
    main()
