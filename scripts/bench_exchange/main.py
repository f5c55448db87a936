# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kadam-bench exchange in a network lab and prints how its exchanges compare. Called by
scripts/bench_exchange.sh, while the lab is up."""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys

import tables

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

MPI = "MPI all-reduce"
# Values of Open MPI's coll_tuned_allreduce_algorithm; None: Open MPI chooses.
ALGORITHMS = {"its choice": None, "basic linear": 1, "nonoverlapping": 2, "recursive doubling": 3, "ring": 4,
              "segmented ring": 5, "Rabenseifner": 6}
NO_LAB = 77
DENSE = ("dense mean, float32", "dense mean, bf16")
CODED = ("compressed mean", "LoCo", "sparse mean")
# A lab whose hosts are so far apart that latency alone decides the time of an exchange.
FAR_RATE, FAR_DELAY, FAR_ELEMENTS = "1gbit", "5ms", 100_000


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench_exchange.sh", description=__doc__)
    for name in ("netlab", "program", "rates", "algorithms", "out"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("elements", "hosts", "ranks-per-host", "seconds", "repetitions"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    arguments.algorithms = chosen_algorithms(arguments.algorithms)
    return arguments


def chosen_algorithms(words):
    """The entries of ALGORITHMS that the text names: "all", or words between commas, with _ for each space."""
    by_word = {name.lower().replace(" ", "_"): name for name in ALGORITHMS}
    names = list(by_word) if words == "all" else words.split(",")
    unknown = [name for name in names if name not in by_word]
    if unknown:
        sys.exit(f"kadam: MPI's all-reduce has no algorithm {unknown[0]}; the algorithms are {', '.join(by_word)}")
    return {by_word[name]: ALGORITHMS[by_word[name]] for name in names}


def words_for_mpirun(algorithm):
    if algorithm is None:
        return []
    return ["--mpirun-args", f"--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm {algorithm}"]


def runs(algorithms):
    """Yields (description, names of exchanges, number of MPI's algorithm, factor on --seconds) for each run."""
    for name, number in algorithms.items():
        yield f"{MPI}, {name}", [MPI], number, 1
    for name in DENSE:
        yield name, [name], None, 1
    yield "compressed and sparse exchanges", CODED, None, 3


def command(arguments, rate, elements, names, algorithm, seconds):
    return [arguments.netlab, "run", "--ranks-per-host", str(arguments.ranks_per_host), *words_for_mpirun(algorithm),
            "--", arguments.program, "exchange", "--json", "--interface-bytes", "--rate", rate,
            "--elements", str(elements), "--repetitions", str(arguments.repetitions),
            "--seconds", str(seconds), *(word for name in names for word in ("--only", name))]


def output_of(words):
    """The standard output of a command; None where the system does not allow such a lab."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == NO_LAB:
        print(f"kadam: {done.stderr.strip()}", file=sys.stderr)
        return None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "kadam" in line] or done.stderr.splitlines()[-1:]
        sys.exit(f"kadam: {' '.join(words)}\nfailed with code {done.returncode}: {said[0] if said else 'no output'}")
    return done.stdout


def json_objects(output):
    """The JSON objects among the lines of an output, which launchers write to as well; none if it is None."""
    return map(json.loads, filter(lambda line: line.startswith("{"), (output or "").splitlines()))


def results_at(arguments, rate, progress):
    """Yields the JSON objects of kadam-bench for all exchanges, with the rate; MPI's with the algorithm in its name."""
    output_of([arguments.netlab, "shape", "--rate", rate])
    for said, names, algorithm, share in runs(arguments.algorithms):
        progress(f"{rate}: {said}")
        words = command(arguments, rate, arguments.elements, names, algorithm, share * arguments.seconds)
        for result in json_objects(output_of(words)):
            if result["exchange"].startswith(MPI):
                result["exchange"] = said
            yield {"rate": rate, "hosts": arguments.hosts, **result}


def results_far_apart(arguments, progress):
    """Yields the same for short vectors, in a separate lab with a delay; nothing where delays are not possible."""
    rate = f"{FAR_RATE}+{FAR_DELAY}"
    progress(f"{rate}: short vectors")
    output = output_of([arguments.netlab, "with", "--name", f"far{os.getpid()}", "--hosts", str(arguments.hosts),
                        "--rate", FAR_RATE, "--delay", FAR_DELAY, "--",
                        *command(arguments, FAR_RATE, FAR_ELEMENTS, [*DENSE, *CODED], None, arguments.seconds)])
    for result in json_objects(output):
        yield {"rate": rate, "hosts": arguments.hosts, **result}


def show_progress(words):
    """One line on a terminal, overwritten; silent elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


def measure(arguments):
    """Returns all results; writes each to the file as soon as it is known."""
    pathlib.Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    results = []
    with open(arguments.out, "w", encoding="utf-8") as file:
        at_rates = (results_at(arguments, rate, show_progress) for rate in arguments.rates.split(","))
        for result in itertools.chain(*at_rates, results_far_apart(arguments, show_progress)):
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
