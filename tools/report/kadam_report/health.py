# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Health figures and warnings."""
from kadam_report.curves import Kind, figure_of

# By the name of the field: title, meaning, and the limits at which the optimizer warns (kadam/algorithms/health.hpp).
FIGURES = {
    "error_ratio": ("Error ratio", "Errors that compression still owes, divided by the result of the last exchange: "
                    "bounded if error feedback works.", (100,)),
    "variance_drift": ("Variance drift", "Mean square of the gradients, divided by its value when the variance was "
                       "frozen: far from 1, the frozen variance no longer fits.", (0.0625, 4)),
    "variance_spread": ("Variance spread", "Largest sum of v of a rank, divided by the smallest: far from 1, the "
                        "ranks' data differ.", (2,)),
    "largest_step": ("Largest step", "Largest step of a coordinate with a frozen variance, divided by the learning "
                     "rate: far above dense Adam's 7, that variance is noise.", (200,)),
    "support_overlap": ("Support overlap", "Share of the coordinates sent in the last sparse exchange that several "
                        "ranks sent: 0 if all ranks choose different ones, 1 if all choose the same.", ()),
    "background_hidden": ("Hidden part of background exchanges", "Share of the time of background exchanges in which "
                          "rank 0 computed.", ()),
}
NEAR = 1.5


def kind_of(field, runs):
    """The kind of a health figure, with those limits that are near enough to the curves not to flatten them."""
    title, caption, limits = FIGURES[field]
    if limits:
        sides = ("below", "above")[-len(limits) :]
        caption += f" The optimizer warns {' or '.join(f'{side} {limit:g}' for side, limit in zip(sides, limits))}."
    values = [line.numbers[field] for run in runs for line in run.training if field in line.numbers]
    near = [limit for limit in limits if any(limit / NEAR < value < limit * NEAR for value in values)]
    return Kind(field.replace("_", "-"), f"{title} over steps", caption, field,
                levels=[(limit, f"warning: {limit:g}") for limit in near])


def health_figures_of(runs, styles):
    """Figures of all health figures that some run has."""
    figures = [figure_of(kind_of(field, runs), runs, styles) for field in FIGURES]
    return [figure for figure in figures if figure]


def warnings_of(runs):
    """The warnings of the optimizers, as sentences; empty if there were none."""
    sentences = []
    for run in runs:
        for caution in run.cautions.values():
            when = f"at step {caution.first_step}"
            if caution.lines > 1:
                when = f"{caution.lines} times between steps {caution.first_step} and {caution.last_step}"
            sentences.append(f"{run.label}, {when}: {caution.text}.")
        last = run.training[-1].numbers if run.training else {}
        skipped = run.result.get("skipped_steps", last.get("skipped_steps", 0.0))
        if skipped > 0:
            sentences.append(f"{run.label}: {skipped:.0f} of {run.steps} steps were skipped: a gradient was NaN or "
                             "infinite on some rank.")
    return sentences
