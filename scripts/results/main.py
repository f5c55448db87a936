# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains with every method of a study and prints the results as Markdown. It does not repeat finished runs: if you stop
it, the same command goes on later."""
import argparse
import os
import pathlib
import sys

from documents import DOCS, put_summaries, put_table
from picture import draw
from runs import PROGRAM, Progress, row_of
from studies import CONVERGENCE, STUDIES
from tables import rates_tried, table

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402
from optimizers import algorithms_of, optimizers  # noqa: E402

LEGEND = """\
whole run: how many times fewer bytes it sends than dense float32 by ring, warm-up included; held-out loss: nats, mean
and standard deviation over the seeds; against the first row: difference of the means, * if it lies within the range of
the seeds of that row; sent per step: by rank 0, after the warm-up, with the bytes of the ranks' agreement; less than
float32, than bf16: how many times fewer bytes that is than a dense mean by ring; foreground: the same without the bytes
that are sent in the background."""


def parse():
    parser = argparse.ArgumentParser(prog="scripts/results.sh", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="one seed, at the learning rates of the example files (under 20 minutes)")
    parser.add_argument("--study", action="append", choices=[study.name for study in STUDIES],
                        help="study to run; may be repeated (default: convergence)")
    parser.add_argument("--workload", action="append", help="only this workload of the study; may be repeated",
                        choices=sorted({workload.name for study in STUDIES for workload in study.workloads}))
    parser.add_argument("--algorithms", metavar="LIST", default="all",
                        help="optimizers, separated by commas, that are trained beside dense Adam (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"),
                        help="folder of the runs (default results); runs in it are not repeated")
    parser.add_argument("--write", action="store_true", help="also puts the tables into docs/")
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or arguments.algorithms != "all"):
        parser.error("--write needs whole tables: give neither --quick nor --algorithms")
    return arguments


def machine():
    day, commit = report.today_and_commit()
    return f"{day}, {report.processor()}, {os.cpu_count()} cores, {commit}."


def text_of(workload, rows):
    text = f"### {workload.title}, {workload.ranks} ranks\n\n{machine()}\n\n{table(rows)}\n"
    if any(len(row.tried) > 1 for row in rows):
        text += f"\nHeld-out loss of the first seed at each learning rate:\n\n{rates_tried(rows)}\n"
    return text


def rows_of(study, workloads, methods, arguments):
    """The rows of each workload."""
    def rates(workload, method):
        return (None,) if arguments.quick else workload.rates_for(method)

    seeds = study.seeds[:1] if arguments.quick else study.seeds
    each = [len(rates(w, m)) + len(seeds) - 1 for w in workloads for m in methods]
    progress = Progress(sum(each))
    out = arguments.out / study.name
    return [[row_of(w, m, rates(w, m), seeds, out, progress) for m in methods] for w in workloads]


def write(study, panels, docs=DOCS):
    """Writes each table in its place. The tables over all workloads follow if all of them were run."""
    for workload, rows in panels:
        put_table(study, workload, text_of(workload, rows).rstrip("\n"), docs)
    if study == CONVERGENCE and len(panels) == len(study.workloads):
        put_summaries(panels, docs)
        draw(docs / "pictures" / "results.svg", panels)


def main():
    arguments = parse()
    wanted = arguments.study or ["convergence"]
    known = optimizers(PROGRAM)
    algorithms = algorithms_of(arguments.algorithms, known)
    for study in (s for s in STUDIES if s.name in wanted):
        workloads = [w for w in study.workloads if not arguments.workload or w.name in arguments.workload]
        rows = rows_of(study, workloads, study.methods(known, algorithms), arguments)
        panels = list(zip(workloads, rows))
        parts = [text_of(*panel) for panel in panels]
        text = f"## {study.title}\n\n" + "\n".join(parts) + f"\n{LEGEND}\n"
        name = f"{study.name}_quick" if arguments.quick else study.name
        (arguments.out / f"{name}.md").write_text(text, encoding="utf-8")
        draw(arguments.out / f"{name}.svg", panels)
        print(text)
        if arguments.write:
            write(study, panels)


if __name__ == "__main__":
    main()
