# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, bytes, time and timelines."""
from kadam_report import texts
from kadam_report.curves import Kind, figure_of
from kadam_report.strips import timeline_figures_of
from kadam_report.time_bars import time_bars_of

LOSS = Kind("loss-over-steps", "Training loss over steps, nats",
            "Mean over ranks and over the steps between two logged lines.", "loss")
LOSS_OVER_TIME = Kind("loss-over-time", "Training loss over time, nats",
                      "Time since the start of the run, with evaluations and checkpoints.", "loss", "seconds")
HELD_OUT = Kind("held-out-loss", "Held-out loss over steps, nats",
                "Mean over predictions on data that training does not see.", "held_out_loss", lines="evaluations")


def bytes_kind(runs):
    """The kind of the bytes, with levels for a dense exchange: one, or one for each model and number of ranks."""
    said = {numbers.get("dense_bytes_per_step", 0.0) for run in runs for numbers in (run.result, run.facts)}
    levels = [(value, f"dense float32 mean: {texts.size(value)}") for value in sorted(said) if value > 0]
    unknown = "" if levels else " The bytes of a dense mean are not known."
    return Kind("bytes", "Bytes sent per step",
                "Sent by rank 0, mean over the steps between two logged lines." + unknown, "bytes_per_step",
                text=texts.size, logarithmic=True, levels=levels)


def main_figures_of(runs, styles):
    """The main figures for which the runs have numbers."""
    kinds = [LOSS, LOSS_OVER_TIME]
    if any(len(run.evaluations) > 1 for run in runs):  # one evaluation, at the end, is in the table of results
        kinds.append(HELD_OUT)
    kinds.append(bytes_kind(runs))
    figures = [figure_of(kind, runs, styles) for kind in kinds]
    return [figure for figure in [*figures, time_bars_of(runs)] if figure] + timeline_figures_of(runs)
