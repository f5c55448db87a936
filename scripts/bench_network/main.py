# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with every method at every rate of the lab, and prints how long a step takes. Called by
scripts/bench_network.sh."""
import argparse
import os
import pathlib
import sys

import kadam_runs
import picture
import studies
import tables
from cases import Bench, Records
from lab import Lab
from studies import PEERS, RATES, ROUND, WORKLOADS

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402
from optimizers import algorithms_of, optimizers, words_of  # noqa: E402

DOCUMENT = report.DOCUMENT.with_name("end_to_end.md")


def losses_of(texts):
    """{workload: loss} from a text like cnn=0.4."""
    losses = {workload.name: workload.loss for workload in WORKLOADS}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            losses[words_of(name, losses, "workload")[0]] = float(value)
        except ValueError:
            sys.exit(f"kadam: --loss needs a value like cnn=0.4, not {text}")
    return losses


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench_network.sh", description=__doc__)
    for name in ("--netlab", "--program", "--output"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python", default="")
    parser.add_argument("--data", default="")
    parser.add_argument("--mpirun-args", default="")
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--rates", default=",".join(RATES))
    parser.add_argument("--workloads", default=",".join(workload.name for workload in WORKLOADS))
    parser.add_argument("--algorithms", default="all")
    parser.add_argument("--loss", action="append", default=[])
    parser.add_argument("--no-curves", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true",
                        help="checks only the options; without a program, all but the algorithms")
    return parser.parse_args()


def chosen_workloads(arguments):
    names = words_of(arguments.workloads, [workload.name for workload in WORKLOADS], "workload")
    if arguments.steps % ROUND:
        sys.exit(f"kadam: --steps needs a multiple of {ROUND}, not {arguments.steps}")
    return [workload for workload in WORKLOADS if workload.name in names]


def methods_of(arguments):
    """All methods, and those of the algorithms on the command line."""
    known = optimizers(arguments.program)
    algorithms = algorithms_of(arguments.algorithms, known)
    methods = studies.methods(known)
    return methods, [method for method in methods if method.optimizer in algorithms]


def measure(bench, workloads, methods, rates, with_curves):
    if with_curves:
        bench.lab.shape("none")
        for workload in workloads:
            for method in methods:
                if method.same_as is None and method.exchanges:
                    bench.train(workload, method)
    for rate in rates:
        bench.lab.shape(rate)
        for workload in workloads:
            for method in methods:
                bench.time_method(workload, method, rate)
            for peer in PEERS if bench.python else ():
                bench.time_peer(workload, peer, rate)


def curves_of(bench, workload, methods):
    """{label: lines of metrics} of methods with a curve. Methods that compute the same share it."""
    curves = {method.label: bench.curve(workload, method) for method in methods}
    curves |= {one.label: curves.get(one.same_as) for one in (*methods, *PEERS) if one.same_as}
    return {label: lines for label, lines in curves.items() if lines is not None}


def courses(curves, methods, records):
    """Loss over time, {label: points}: of dense Adam, and of the variant of dense Adam, the peer and the compressed
    optimizer that reach the loss first."""
    dense = [method.label for method in methods if method.dense and method.optimizer == "adam"]
    peers = [peer.label for peer in PEERS]
    others = [method.label for method in methods if not method.dense]
    first = [tables.first_to_loss(records, labels) for labels in (["adam"], dense, peers, others)]
    return {label: kadam_runs.course_of(curves[label], kadam_runs.phases_of(records[label])) for label in first if label}


def by_rate(bench, workload, methods, rates):
    """{rate: {label: record}} of these methods and the peers, where there are records."""
    labels = [method.label for method in methods] + [peer.label for peer in PEERS if bench.python]
    of = bench.records.of
    return {rate: {label: of[workload.name, label, rate] for label in labels if (workload.name, label, rate) in of}
            for rate in rates}


def heading(panels, hosts):
    day, commit = report.today_and_commit()
    others = [record["others"] for _, rates in panels for records in rates.values() for record in records.values()]
    return (f"{day}, {report.processor()}, {os.cpu_count()} cores shared by {hosts} hosts of one thread each, "
            f"{commit}.{report.disturbance(others)}")


def document(panels, methods, losses, hosts):
    parts = [heading(panels, hosts)]
    for workload, rates in panels:
        parts.append(f"## {workload.title}\n\nThe last columns count the steps and the time to a training loss of {losses[workload.name]:g}.")
        for rate, records in rates.items():
            parts.append(f"### {studies.title_of(rate)}\n\n{tables.table(records, methods)}")
    return "\n\n".join([*parts, tables.LEGEND.format(window=kadam_runs.WINDOW)]) + "\n"


def main():
    arguments = parse()
    workloads, losses, rates = chosen_workloads(arguments), losses_of(arguments.loss), arguments.rates.split(",")
    if arguments.check and not pathlib.Path(arguments.program).exists():
        return
    every, methods = methods_of(arguments)
    if arguments.check:
        return
    output = pathlib.Path(arguments.output).absolute()
    output.mkdir(parents=True, exist_ok=True)
    lab = Lab(arguments.netlab, arguments.hosts, arguments.mpirun_args, any("+" in rate for rate in rates))
    bench = Bench(lab, Records(output / "cases.jsonl"), arguments.program, arguments.python, arguments.data,
                  arguments.steps, output)
    measure(bench, workloads, methods, rates, not arguments.no_curves)
    panels = [(workload, by_rate(bench, workload, methods, rates)) for workload in workloads]
    curves = {workload.name: curves_of(bench, workload, every) for workload in workloads}
    for workload, of_rates in panels:
        for records in of_rates.values():
            kadam_runs.told_to_loss(curves[workload.name], losses[workload.name], records)
    bench.records.write()
    (first, of_rates), slowest = panels[0], min(rates, key=studies.bits_per_second)
    over_time = (first, slowest, losses[first.name], courses(curves[first.name], every, of_rates[slowest]))
    text = document(panels, every, losses, arguments.hosts)
    (output / "network.md").write_text(text, encoding="utf-8")
    picture.draw(output / "network.svg", panels, every)
    picture.draw_over_time(output / "loss_over_time.svg", *over_time)
    print(text, end="")
    if arguments.write:
        report.put_between_markers(DOCUMENT, "bench_network", text.rstrip("\n"))
        picture.draw(DOCUMENT.parent / "pictures" / f"{DOCUMENT.stem}.svg", panels, every)
        picture.draw_over_time(DOCUMENT.parent / "pictures" / "loss_over_time.svg", *over_time)


if __name__ == "__main__":
    main()
