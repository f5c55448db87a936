# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs several kadam-bench in turn and prints tables of their kernels. Called by scripts/bench_kernels.sh."""
import argparse
import os
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402
import turns  # noqa: E402

UPDATE_LIMIT = "limit: in-place scale"
# The ratios that are wanted, of a kernel's time to that of the kernel that it is compared with.
WANTED = {
    "lamb_update": "at most 1.5",
    "onebit_adam step, n = 4": "at most 1.0, with AVX2 1.1",
    "onebit_lamb step, n = 4": "at most 1.5",
    "top-k per 4096, 1 %": "at most 2.5",
    "top-k per 4096, 0.1 %": "at most 2.5",
    "top-k of all, 1 %": "at most 4",
    "top-k of all, 0.1 %": "at most 4",
    "sparse mean of 8, 1 %": "at most 1.5",
}


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench_kernels.sh", description=__doc__)
    parser.add_argument("--elements", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("programs", nargs="+", metavar="TITLE=PATH")
    return parser.parse_args()


def commands(arguments):
    """{title: command} of the programs."""
    words = ["kernels", "--elements", str(arguments.elements), "--threads", str(arguments.threads), "--json"]
    words += [word for kernel in arguments.only for word in ("--only", kernel)]
    return {title: [path, *words] for title, path in (program.split("=", 1) for program in arguments.programs)}


def of_rounds(rounds, title, kernel, key):
    """The values of all rounds; none of a kernel or a value that a program does not have."""
    records = (one[title].get(kernel, {}) for one in rounds)
    return [record[key] for record in records if record.get(key) is not None]


def median_text(values, digits):
    return format(statistics.median(values), digits) if values else "-"


def rates_text(rounds, title):
    """GB/s of the in-place scale in all rounds, least to most."""
    rates = [8e-6 * one[title][UPDATE_LIMIT]["elements"] / one[title][UPDATE_LIMIT]["milliseconds"] for one in rounds]
    least, most = f"{min(rates):.0f}", f"{max(rates):.0f}"
    return f"{least} GB/s" if least == most else f"{least} to {most} GB/s"


def kernels_of(rounds):
    """{kernel: its record by the first program that has it}."""
    kernels = {}
    for records in rounds[0].values():
        for kernel, record in records.items():
            kernels.setdefault(kernel, record)
    return kernels


def kernels_table(rounds):
    """A row for each kernel; two columns for each program."""
    titles = list(rounds[0])
    rows = [("kernel", "B/element", *(word for title in titles for word in (f"{title}: ms", "to limit")))]
    for kernel, record in kernels_of(rounds).items():
        moved = record["bytes_per_element"]
        row = [kernel, f"{moved:.2f}" if moved else "-"]
        for title in titles:
            row += [median_text(of_rounds(rounds, title, kernel, "milliseconds"), ".4g"),
                    median_text(of_rounds(rounds, title, kernel, "ratio_to_limit"), ".2f")]
        rows.append(tuple(row))
    return report.markdown(rows)


def goals_table(rounds):
    """A row for each two kernels that are compared: the median of the ratios of all rounds; None without any."""
    titles = list(rounds[0])
    rows = [("one over the other, in the same round", *titles, "wanted")]
    for kernel, record in kernels_of(rounds).items():
        other = record.get("compared_with")
        if other is None:
            continue
        ratios = [median_text([own / with_it for own, with_it in zip(of_rounds(rounds, title, kernel, "milliseconds"),
                                                                     of_rounds(rounds, title, other, "milliseconds"))],
                              ".2f") for title in titles]
        if any(ratio != "-" for ratio in ratios):
            rows.append((f"{kernel} / {other}", *ratios, WANTED.get(kernel, "")))
    return report.markdown(rows) if len(rows) > 1 else None


def heading(arguments, rounds, others):
    day, commit = report.today_and_commit()
    plural = "" if arguments.threads == 1 else "s"
    rates = "; ".join(f"{title}: {rates_text(rounds, title)}" for title in rounds[0])
    return (f"{day}, {report.processor()}, {os.cpu_count()} cores, {arguments.threads} thread{plural}, "
            f"d = {report.power_of_two(arguments.elements)}, medians of {arguments.rounds} rounds, {commit}. "
            f"In-place scale, {rates}.{report.disturbance([others])}")


def main():
    arguments = parse()
    rounds, others = turns.measure(commands(arguments), arguments.rounds, arguments.threads)
    text = "\n\n".join(filter(None, (heading(arguments, rounds, others), kernels_table(rounds),
                                     goals_table(rounds)))) + "\n"
    print(text, end="")
    if arguments.write:
        report.put_between_markers(report.DOCUMENT, "bench_kernels", text)


if __name__ == "__main__":
    main()
