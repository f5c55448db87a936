# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of the results of kadam-bench exchange: all of them, and a comparison with the goals."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

FLOAT32_BASELINES = ("MPI all-reduce", "dense mean, float32")
BF16_BASELINE = "dense mean, bf16"
# The goals hold for vectors of at least this length, with a cable for each rank.
LONG_ENOUGH = 25_000_000
LIMIT, LIMIT_AND_LATENCIES = "to limit", "to limit and 2 latencies"
# Goals for time / limit of the wire, at most, with two cores for the kernels of all ranks: (beginning of the exchange's
# name, rates, limit, ratio). The first fitting line counts. The first bytes are encoded before they leave and the last
# are decoded after they have come: with short messages this and the latency count, too.
RATIOS_WANTED = (("dense mean", ("100mbit", "1gbit"), LIMIT, 1.1),
                 ("compressed mean, 1 bit", ("1gbit",), LIMIT, 2.0),
                 ("compressed mean", ("100mbit", "1gbit"), LIMIT, 1.15),
                 ("sparse mean, own, 1/1024", ("100mbit", "1gbit"), LIMIT_AND_LATENCIES, 1.2),
                 ("sparse mean, owner, 1/1024", ("100mbit", "1gbit"), LIMIT_AND_LATENCIES, 1.2),
                 ("sparse mean", ("100mbit", "1gbit"), LIMIT, 1.2))
# Goal for an exchange of a short vector between hosts that are far apart, at most.
ROUND_TRIPS_WANTED = 3.0
# Goals for the speed-up over the best float32 dense exchange, at a rate, at least.
SPEEDUPS_WANTED = (("compressed mean, 1 bit", "100mbit", 20.0),)

LEGEND = """\
Seconds: median of the runs, for the slowest rank. MB counted: payload of the rank that sends most; for MPI's \
all-reduce, whose messages Kadam does not see, the payload of a ring. MB sent: bytes that the network interface of the \
host that sends most counts. To limit: the seconds divided by those that the counted bytes alone take at the cable's \
rate; the headers of 1500-byte packets make it 1.05 at best. The two last columns: the seconds of the best float32 \
dense exchange of the table, and of the bf16 one, divided by these. A round trip: the time of a message of 8 bytes \
from the first host to the last and back, measured in the same run, while the others wait; a latency is half of it."""


def best_dense(results):
    """The fastest dense float32 exchange: MPI's with any algorithm, or Kadam's."""
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
    """The table of one rate."""
    float32, bf16 = best_dense(results), bf16_dense(results)
    rows = [("exchange", "seconds", "runs", "MB counted", "MB sent", "to limit", "× float32", "× bf16")]
    return report.markdown(rows + [cells_of(result, float32, bf16) for result in results])


def far_apart(result):
    """Whether the hosts of a result are far apart: its rate then has a delay, as in 1gbit+5ms."""
    return "+" in result["rate"]


def round_trips(result):
    return result["seconds"] / result["round_trip_seconds"]


def table_of_round_trips(results):
    rows = [("exchange", "ms", "runs", "MB counted", "round trips")]
    return report.markdown(rows + [(result["exchange"], f"{1e3 * result['seconds']:.4g}", str(result["repetitions"]),
                                    megabytes(result["bytes_sent"]), f"{round_trips(result):.2f}")
                                   for result in results])


def ratio_of(result, what):
    if what == LIMIT:
        return result["ratio_to_limit"]
    return result["seconds"] / (result["wire_limit_seconds"] + result["round_trip_seconds"])


def compared(result, what, measured, most):
    return (result["exchange"], result["rate"], what, f"{measured:.2f}", f"at most {most:g}",
            "yes" if measured <= most else "no")


def ratios_beside_wanted(results):
    for result in results:
        wanted = next(((what, most) for name, rates, what, most in RATIOS_WANTED
                       if result["exchange"].startswith(name) and result["rate"] in rates), None)
        if wanted and result["ratio_to_limit"] is not None:
            what, most = wanted
            yield compared(result, what, ratio_of(result, what), most)


def round_trips_beside_wanted(results):
    for result in results:
        yield compared(result, f"round trips, d = {result['elements']:,}", round_trips(result), ROUND_TRIPS_WANTED)


def speedups_beside_wanted(results):
    float32 = best_dense(results)
    for result in results:
        for name, rate, least in SPEEDUPS_WANTED:
            if (result["exchange"], result["rate"]) == (name, rate) and float32:
                times = times_faster(result, float32)
                yield (name, rate, f"× {float32['exchange']}", number(times), f"at least {least:g}",
                       "yes" if times >= least else "no")


def text_of(results):
    """A table for each rate, one of round trips, the legend, and the goals."""
    far = [result for result in results if far_apart(result)]
    rates = list(dict.fromkeys(result["rate"] for result in results if not far_apart(result)))
    parts, wanted = [], []
    for rate in rates:
        at_rate = [result for result in results if result["rate"] == rate]
        parts.append(f"At {rate}:\n\n{table_of(at_rate)}")
        if all(result["elements"] >= LONG_ENOUGH and result["ranks"] == result["hosts"] for result in at_rate):
            wanted += [*ratios_beside_wanted(at_rate), *speedups_beside_wanted(at_rate)]
    if far:
        parts.append(f"At {far[0]['rate']} from host to host, one way, d = {far[0]['elements']:,}; a round trip takes "
                     f"{1e3 * far[0]['round_trip_seconds']:.4g} ms:\n\n{table_of_round_trips(far)}")
        wanted += round_trips_beside_wanted(far)
    parts.append(LEGEND)
    if wanted:
        parts.append(report.markdown([("exchange", "rate", "what", "measured", "wanted", "reached"), *wanted]))
    return "\n\n".join(parts) + "\n"
