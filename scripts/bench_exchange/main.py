# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kadam-bench exchange in a network lab and prints how its exchanges compare. Called by
scripts/bench_exchange.sh, while the lab is up."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import tables

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

MPI = "MPI all-reduce"
# Open MPI's coll_tuned_allreduce_algorithm; without a number it chooses.
ALGORITHMS = {"its choice": None, "basic linear": 1, "nonoverlapping": 2, "recursive doubling": 3, "ring": 4,
              "segmented ring": 5, "Rabenseifner": 6}


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench_exchange.sh", description=__doc__)
    for name in ("netlab", "program", "rates", "out"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("elements", "hosts", "ranks-per-host", "seconds", "repetitions"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def words_for_mpirun(algorithm):
    if algorithm is None:
        return []
    return ["--mpirun-args", f"--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm {algorithm}"]


def runs():
    """(what is said of it, names of exchanges, algorithm of MPI, how many times --seconds)"""
    for name, number in ALGORITHMS.items():
        yield f"{MPI}, {name}", [MPI], number, 1
    for name in ("dense mean, float32", "dense mean, bf16"):
        yield name, [name], None, 1
    yield "compressed and sparse exchanges", ["compressed mean", "LoCo", "sparse mean"], None, 3


def command(arguments, rate, names, algorithm, seconds):
    return [arguments.netlab, "run", "--ranks-per-host", str(arguments.ranks_per_host), *words_for_mpirun(algorithm),
            "--", arguments.program, "exchange", "--json", "--interface-bytes", "--rate", rate,
            "--elements", str(arguments.elements), "--repetitions", str(arguments.repetitions),
            "--seconds", str(seconds), *(word for name in names for word in ("--only", name))]


def output_of(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "kadam" in line] or done.stderr.splitlines()[-1:]
        sys.exit(f"kadam: {' '.join(words)}\nfailed with code {done.returncode}: {said[0] if said else 'no words'}")
    return done.stdout


def results_at(arguments, rate, progress):
    """JSON objects of all exchanges, as kadam-bench prints them, with the rate; of MPI's with its algorithm in the
    name."""
    output_of([arguments.netlab, "shape", "--rate", rate])
    for said, names, algorithm, share in runs():
        progress(f"{rate}: {said}")
        lines = output_of(command(arguments, rate, names, algorithm, share * arguments.seconds)).splitlines()
        for result in map(json.loads, filter(lambda line: line.startswith("{"), lines)):
            if result["exchange"].startswith(MPI):
                result["exchange"] = said
            yield {"rate": rate, "hosts": arguments.hosts, **result}


def show_progress(words):
    """One line on a terminal, overwritten; silent elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


def measure(arguments):
    """All results; each is in the file as soon as it is known."""
    pathlib.Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    results = []
    with open(arguments.out, "w", encoding="utf-8") as file:
        for rate in arguments.rates.split(","):
            for result in results_at(arguments, rate, show_progress):
                results.append(result)
                print(json.dumps(result), file=file, flush=True)
    show_progress("")
    return results


def heading(arguments):
    day, commit = report.today_and_commit()
    ranks = arguments.hosts * arguments.ranks_per_host
    return (f"{day}, {report.processor()}, {os.cpu_count()} cores for {ranks} ranks on {arguments.hosts} hosts of a "
            f"network lab, d = {report.power_of_two(arguments.elements)}, {commit}.")


def main():
    arguments = parse()
    results = measure(arguments)
    text = f"{heading(arguments)}\n\n{tables.text_of(results)}"
    print(text, end="")
    if arguments.write:
        report.put_between_markers(report.DOCUMENT, "bench_exchange", text)


if __name__ == "__main__":
    main()
