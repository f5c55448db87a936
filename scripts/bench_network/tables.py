# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of cases as Markdown."""
import pathlib
import sys

from studies import NO_EXCHANGE, PEERS, PEERS_NO_EXCHANGE

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from report import bytes_text, markdown  # noqa: E402

HEAD = ("method", "step, ms", "compute", "encode", "exchange", "decode", "sent per step", "to no exchange",
        "against dense", "against DDP", "steps to loss", "time to loss")
LEGEND = """\
step: mean over the measured round of median length (four steps, or one whole round where rounds are longer), \
after the warm-up, followed by the ms that host 0 spent on each of its parts; exchange is the \
communication that is not hidden, the wait for slower hosts included; for PyTorch, the time by which a step is longer \
than on as many hosts without an exchange. No exchange: as many hosts at the same time, each of which trains alone; to \
no exchange: the step divided by that one, Kadam's for Kadam's methods, PyTorch's for PyTorch's. Against dense, \
against DDP: the step of Kadam's best dense Adam, and of PyTorch's best DDP, divided by this one. Loss: of training, \
mean of {window} steps; the time to it counts each step with the mean of its phase, warm-up included."""


def milliseconds(seconds):
    return "" if seconds is None else f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def seconds_text(seconds):
    return "" if seconds is None else f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"


def times(baseline, seconds):
    return "" if baseline is None else f"{baseline / seconds:.2f}x"


def no_exchange(record, records):
    label = NO_EXCHANGE if record["of"] == "kadam" else PEERS_NO_EXCHANGE
    return records.get(label, {}).get("step_seconds")


def to_no_exchange(record, records):
    base = no_exchange(record, records)
    return "" if base is None else f"{record['step_seconds'] / base:.2f}"


def best(records, labels):
    """The shortest step among these labels; None if none was measured."""
    return min((records[label]["step_seconds"] for label in labels if "step_seconds" in records.get(label, {})),
               default=None)


def first_to_loss(records, labels):
    """The label that reaches the loss first; None if none does."""
    return min((label for label in labels if records.get(label, {}).get("seconds_to_loss") is not None),
               key=lambda label: records[label]["seconds_to_loss"], default=None)


def best_dense(records, methods):
    return best(records, [method.label for method in methods if method.dense and method.optimizer == "adam"])


def best_ddp(records):
    return best(records, [peer.label for peer in PEERS if peer.exchange in ("float32", "bf16")])


def parts_of(record, records):
    """Seconds of compute, encode, exchange and decode; None where not known."""
    if record["of"] == "kadam":
        return [record[f"{part}_seconds"] for part in ("compute", "encode", "exchange", "decode")]
    compute = no_exchange(record, records)
    if record["exchange"] == "none" or compute is None:
        return [record["step_seconds"] if record["exchange"] == "none" else None, None, None, None]
    return [compute, None, max(0.0, record["step_seconds"] - compute), None]


def cells(label, records, methods):
    record = records[label]
    if "failed" in record:
        return (label, "failed", *[""] * (len(HEAD) - 2))
    seconds = record["step_seconds"]
    steps = record.get("steps_to_loss")
    return (label, milliseconds(seconds), *map(milliseconds, parts_of(record, records)),
            bytes_text(record["bytes_per_step"]) if "bytes_per_step" in record else "",
            to_no_exchange(record, records),
            times(best_dense(records, methods), seconds), times(best_ddp(records), seconds),
            "" if steps is None else str(steps), seconds_text(record.get("seconds_to_loss")))


def in_order(labels, methods):
    known = [one.label for one in (*methods, *PEERS)]
    return sorted(labels, key=known.index)


def table(records, methods):
    """The table of one workload at one rate. records: by label; methods: all."""
    labels = in_order(records, methods)
    failed = [f"\n{label}: {records[label]['failed']}" for label in labels if "failed" in records[label]]
    return "\n".join([markdown([HEAD, *(cells(label, records, methods) for label in labels)]), *failed])
