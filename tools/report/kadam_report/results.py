# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of results."""
import math

from kadam_report.figure import Table
from kadam_report.texts import NONE, duration, said, size

HEADER = ["optimizer", "training loss", "held-out loss", "held-out accuracy", "sent per step",
          "less than dense, steadily", "less than dense, overall", "steps", "time"]
NOTE = ("Losses are in nats. Training loss: mean over ranks and the last tenth of the steps. Sent per step: by rank 0, "
        "after a warm-up. Less than dense: bytes of a dense float32 mean of the gradients, divided by the bytes sent, "
        "steadily (after a warm-up) and over the whole run.")


def last_numbers(lines):
    return lines[-1].numbers if lines else {}


def value_of(run, in_result, lines, in_line):
    """A figure of a run's result, or of its last line if it has no result."""
    return run.result.get(in_result) if run.result else last_numbers(lines).get(in_line)


def times_less(run, sent):
    dense = run.result.get("dense_bytes_per_step", run.facts.get("dense_bytes_per_step"))
    return f"{dense / sent:.1f}×" if dense is not None and sent is not None and sent > 0 else NONE


def mean_bytes(run):
    if run.result:
        return run.result.get("mean_bytes_per_step")
    sent = last_numbers(run.training).get("bytes_sent")
    return sent / run.steps if sent is not None and run.steps > 0 else None


def steps_text(run):
    wanted = run.facts.get("steps", 0.0)
    return f"{run.steps:,}" if run.steps >= wanted else f"{run.steps:,} of {math.floor(wanted):,}"


def row_of(run):
    sent = value_of(run, "bytes_per_step", run.training, "bytes_per_step")
    accuracy = value_of(run, "held_out_accuracy", run.evaluations, "held_out_accuracy")
    return [run.label,
            said(value_of(run, "training_loss", run.training, "loss"), "{:.4f}".format),
            said(value_of(run, "held_out_loss", run.evaluations, "held_out_loss"), "{:.4f}".format),
            said(accuracy, lambda part: f"{100 * part:.2f} %"), said(sent, size),
            times_less(run, sent), times_less(run, mean_bytes(run)), steps_text(run),
            said(value_of(run, "wall_seconds", run.training, "seconds"), duration)]


def result_table_of(runs):
    """The table of losses, bytes and time of all runs; for a run without a result, those of its last line."""
    return Table("Results", HEADER, list(map(row_of, runs)))


def background_notes_of(runs):
    """Sentences on the bytes sent in the background."""
    notes = []
    for run in runs:
        background = run.result.get("background_bytes_per_step", 0.0)
        if background > 0:
            foreground = run.result.get("bytes_per_step", background) - background
            notes.append(f"{run.label}: rank 0 sends {size(foreground)} per step in the foreground "
                         f"({times_less(run, foreground)} less than dense) and {size(background)} in the background.")
    return notes
