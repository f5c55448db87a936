# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows as Markdown."""
import math
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from report import bytes_text, markdown  # noqa: E402

HEAD = ("method", "whole run", "lr", "held-out loss", "against {first}", "accuracy", "sent per step",
        "less than float32", "than bf16", "foreground")


def times(dense, sent):
    if sent <= 0:
        return "-"
    ratio = dense / sent
    return f"{ratio:.0f}x" if ratio >= 99.5 else f"{ratio:.3g}x"


def loss_text(row):
    losses = row.losses()
    mean = statistics.fmean(losses)
    if not math.isfinite(mean) or mean > 100:
        return "diverged"
    return f"{mean:.4f} ± {row.deviation():.4f}" if len(losses) > 1 else f"{mean:.4f}"


def against(row, first):
    """Difference of the mean losses, with * if it is within the range of the first row's seeds."""
    if row is first:
        losses = first.losses()
        return f"range {max(losses) - min(losses):.4f}" if len(losses) > 1 else ""
    difference = statistics.fmean(row.losses()) - statistics.fmean(first.losses())
    if not math.isfinite(difference) or difference > 100:
        return "-"
    within = len(first.losses()) > 1 and difference <= max(first.losses()) - min(first.losses())
    return f"{difference:+.4f}{' *' if within else ''}"


def accuracy(row):
    return f"{100 * row.mean('held_out_accuracy'):.1f} %"


def whole_run(row):
    return times(row.mean("dense_bytes_per_step"), row.mean("mean_bytes_per_step"))


def a_step(row):
    return times(row.mean("dense_bytes_per_step"), row.mean("bytes_per_step"))


def foreground(row):
    """The factor by which the foreground sends less than dense; empty if nothing is sent in the background."""
    background = row.mean("background_bytes_per_step")
    return times(row.mean("dense_bytes_per_step"), row.mean("bytes_per_step") - background) if background > 0 else ""


def cells(row, first):
    sent = row.mean("bytes_per_step")
    return (
        row.method.label,
        whole_run(row),
        "of file" if row.rate is None else f"{row.rate:g}",
        loss_text(row),
        against(row, first),
        accuracy(row),
        bytes_text(sent),
        a_step(row),
        times(row.mean("dense_bytes_per_step") / 2, sent),
        foreground(row),
    )


def table(rows):
    first = rows[0]
    return markdown([tuple(head.format(first=first.method.label) for head in HEAD),
                     *(cells(row, first) for row in rows)])


def rates_tried(rows):
    """Held-out loss of the first seed at each learning rate."""
    def loss(row, rate):
        tried = row.tried.get(rate)
        return "" if tried is None else f"{tried:.4f}" if tried < 100 else "diverged"

    rates = sorted({rate for row in rows for rate in row.tried})
    return markdown([("method", *(f"{rate:g}" for rate in rates)),
                     *((row.method.label, *(loss(row, rate) for rate in rates)) for row in rows)])
