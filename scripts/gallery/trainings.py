# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stories of kadam-train: whole trainings, timed steps at the story's rate, and what comes of both. How long a training
takes follows from the two, as in scripts/bench_network.sh."""
import pathlib
import sys

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("bench_network", "internal")]
import kadam_runs  # noqa: E402
import picture  # noqa: E402
from cases import Bench  # noqa: E402
from lab import Lab  # noqa: E402
from report import bytes_text, markdown  # noqa: E402
from studies import delay_of  # noqa: E402
from tables import milliseconds, seconds_text  # noqa: E402

STEPS = 12  # measured at a time
HEAD = ("method", "step, ms", "in the warm-up, ms", "sent per step", "mean of all steps", "steps to {loss:g}",
        "time to {loss:g}", "whole training", "held-out loss")
LEGEND = """\
step: after the warm-up, mean of the measured round of middling length, without evaluations. Sent: by rank 0 to the \
other ranks{in_levels}, after the warm-up, and in the mean over the whole training. To {loss:g}: until the mean of \
{window} training losses is that low. Times of trainings add up their steps, each as long as a timed step of its phase \
on this network; the trainings themselves ran on an unshaped one, which changes no loss. Held-out loss: at the end, \
nats."""


def bench_of(story, method, arguments, records, output):
    """Runs a method on the lab that is up, in its levels."""
    lab = Lab(arguments.netlab, story.hosts, arguments.mpirun_args + story.levels(method.label),
              bool(delay_of(story.rate)), story.ranks_per_host)
    return Bench(lab, records, arguments.program, "", arguments.data, STEPS, output)


def measure(story, methods, arguments, records, output):
    """{label: record} of timed steps, with what the whole trainings add; and {label: lines of the training}."""
    benches = {method.label: bench_of(story, method, arguments, records, output) for method in methods}
    first = benches[methods[0].label].lab
    first.shape("none")
    for method in methods:
        if method.label not in story.flat:
            benches[method.label].train(story.workload, method)
    first.shape(story.rate)
    timed = {method.label: benches[method.label].time_method(story.workload, method, story.rate) for method in methods}
    curves = {method.label: benches[method.label].curve(story.workload, method) for method in methods}
    curves = {label: lines for label, lines in curves.items() if lines is not None}
    kadam_runs.told_to_loss(curves, story.workload.loss, timed)
    for method in methods:
        if method.label in curves and "failed" not in timed[method.label]:
            add_whole(timed[method.label], curves[method.label],
                      kadam_runs.comparison_of(benches[method.label].curve_folder(story.workload, method)))
    records.write()
    return timed, curves


def add_whole(record, lines, comparison):
    """What a whole training adds to a record of timed steps: its seconds, its bytes, its loss."""
    course = kadam_runs.course_of(lines, kadam_runs.phases_of(record))
    record |= {"whole_seconds": course[-1][0] if len(course) == len(kadam_runs.mean_losses(lines)) else None,
               "mean_bytes_per_step": comparison["mean_bytes_per_step"], "held_out_loss": comparison["held_out_loss"]}


def cells(label, record):
    if "failed" in record:
        return (label, "failed", *[""] * (len(HEAD) - 2))
    steps, mean, loss = (record.get(key) for key in ("steps_to_loss", "mean_bytes_per_step", "held_out_loss"))
    return (label, milliseconds(record["step_seconds"]), milliseconds(record["seconds_of_phase"].get("warm-up")),
            bytes_text(record["bytes_per_step"]), "" if mean is None else bytes_text(mean),
            "" if steps is None else str(steps), seconds_text(record.get("seconds_to_loss")),
            seconds_text(record.get("whole_seconds")), "" if loss is None else f"{loss:.4f}")


def table(story, records):
    """records: by label."""
    head = tuple(cell.format(loss=story.workload.loss) for cell in HEAD)
    failed = [f"\n{label}: {record['failed']}" for label, record in records.items() if "failed" in record]
    in_levels = ", in two levels to those of other hosts alone" if story.ranks_per_host > 1 else ""
    legend = LEGEND.format(in_levels=in_levels, loss=story.workload.loss, window=kadam_runs.WINDOW)
    return "\n".join([markdown([head, *(cells(*one) for one in records.items())]), *failed]) + f"\n\n{legend}"


def draw(file, story, records, curves):
    courses = {label: kadam_runs.course_of(curves[label], kadam_runs.phases_of(records[label]))
               for label in curves if "failed" not in records[label]}
    picture.draw_over_time(file, story.workload, story.rate, story.workload.loss, courses)
