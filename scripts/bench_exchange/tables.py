# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of what kadam-bench exchange measured: all of it, and beside what is wanted."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

FLOAT32_BASELINES = ("MPI all-reduce", "dense mean, float32")
BF16_BASELINE = "dense mean, bf16"
# What is wanted, is wanted of vectors of this length on, with a cable for each rank.
LONG_ENOUGH = 25_000_000
# Of an exchange's time over the wire's limit, at most.
RATIOS_WANTED = (("dense mean, float32", 1.1), ("dense mean, bf16", 1.1), ("compressed mean", 1.15),
                 ("sparse mean", 1.2))
# Times faster than the best float32 dense exchange, at a rate.
SPEEDUPS_WANTED = (("compressed mean, 1 bit", "100mbit", 20.0),)

LEGEND = """\
Seconds: of the slowest rank, median of the runs. MB counted: the payload that the rank that sends most sends; of \
MPI's all-reduce, whose algorithm is its own business, what a ring would. MB sent: what the network interface of the \
host that sends most counts. To limit: seconds over those that the counted bytes alone take at the cable's rate; the \
headers of 1500-byte packets make it 1.05 at best. The two last columns: the seconds of the best float32 dense \
exchange of the table, and of the bf16 one, over these."""


def best_dense(results):
    """The fastest float32 one, MPI's by whatever algorithm or ours."""
    dense = [result for result in results if result["exchange"].startswith(FLOAT32_BASELINES)]
    return min(dense, key=lambda result: result["seconds"], default=None)


def bf16_dense(results):
    return next((result for result in results if result["exchange"] == BF16_BASELINE), None)


def number(value):
    return "-" if value is None else f"{value:.4g}"


def times_faster(result, baseline):
    return None if baseline is None else baseline["seconds"] / result["seconds"]


def megabytes(count):
    return number(None if count is None else count / 1e6)


def cells_of(result, float32, bf16):
    return (result["exchange"], f"{result['seconds']:.4g}", str(result["repetitions"]),
            megabytes(result["bytes_sent"]), megabytes(result["interface_bytes"]),
            "-" if result["ratio_to_limit"] is None else f"{result['ratio_to_limit']:.2f}",
            number(times_faster(result, float32)), number(times_faster(result, bf16)))


def table_of(results):
    """Of one rate."""
    float32, bf16 = best_dense(results), bf16_dense(results)
    rows = [("exchange", "seconds", "runs", "MB counted", "MB sent", "to limit", "× float32", "× bf16")]
    return report.markdown(rows + [cells_of(result, float32, bf16) for result in results])


def ratios_beside_wanted(results):
    for result in results:
        for name, most in RATIOS_WANTED:
            if result["exchange"].startswith(name) and result["ratio_to_limit"] is not None:
                ratio = result["ratio_to_limit"]
                yield (result["exchange"], result["rate"], "to limit", f"{ratio:.2f}", f"at most {most:g}",
                       "yes" if ratio <= most else "no")


def speedups_beside_wanted(results):
    float32 = best_dense(results)
    for result in results:
        for name, rate, least in SPEEDUPS_WANTED:
            if (result["exchange"], result["rate"]) == (name, rate) and float32:
                times = times_faster(result, float32)
                yield (name, rate, f"× {float32['exchange']}", number(times), f"at least {least:g}",
                       "yes" if times >= least else "no")


def text_of(results):
    """A table for each rate, the legend, and what is wanted."""
    rates = list(dict.fromkeys(result["rate"] for result in results))
    parts, wanted = [], []
    for rate in rates:
        at_rate = [result for result in results if result["rate"] == rate]
        parts.append(f"At {rate}:\n\n{table_of(at_rate)}")
        if all(result["elements"] >= LONG_ENOUGH and result["ranks"] == result["hosts"] for result in at_rate):
            wanted += [*ratios_beside_wanted(at_rate), *speedups_beside_wanted(at_rate)]
    parts.append(LEGEND)
    if wanted:
        parts.append(report.markdown([("exchange", "rate", "what", "measured", "wanted", "reached"), *wanted]))
    return "\n\n".join(parts) + "\n"
