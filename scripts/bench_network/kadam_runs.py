# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of kadam-train on the hosts of the lab, and figures from their metrics."""
import json
import math
import shutil
import statistics
import subprocess

from lab import reason, reason_of_first
from studies import SETTLE, median_round, timing_options, training_options

PARTS = ("compute", "encode", "exchange", "decode")
TIMED_TRAINING = {"training.log_every": 1, "training.held_out_examples": 8}
CURVE_TRAINING = {"training.log_every": 1}
# The environment that scripts/netlab.sh run sets.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_PROC_BIND": "false"}
# Number of losses that are averaged.
WINDOW = 20


def command(program, workload, method, settings, data):
    """The command line of a run, without --run."""
    words = [program, "--config", workload.config]
    of_data = {"data.path": data} if data and workload.is_text else {}
    for key, value in (workload.settings | settings | of_data).items():
        words += ["--set", f"{key}={value}"]
    return [str(word) for word in words] + ["--compare", method.optimizer]


def settings_of(workload, method, options, training):
    of_optimizer = training_options(workload, method) | options
    of_training = {f"training.{key}": value for key, value in method.training.items()}
    return ({f"optimizer.{method.optimizer}.{key}": value for key, value in of_optimizer.items()} | of_training
            | training)


def timed_command(program, workload, method, steps, data):
    training = TIMED_TRAINING | {"training.steps": SETTLE + steps}
    return command(program, workload, method,
                   settings_of(workload, method, timing_options(method.kind), training), data)


def curve_command(program, workload, method, data):
    return command(program, workload, method, settings_of(workload, method, {}, CURVE_TRAINING), data)


def run(lab, words, folder, timeout):
    """Runs a command on all hosts; returns None, or why it failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(lab.run_command([*words, "--run", folder]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            _, said = running.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            running.terminate()
            running.communicate()
            return f"not done after {timeout:.0f} s"
    return None if running.returncode == 0 else reason(said, running.returncode)


def run_alone(lab, words, folder, processes, timeout):
    """Runs without an exchange: every host trains alone, the first one in `folder`. Returns None, or why it failed."""
    folders = [folder.with_name(f"{folder.name}_{host}") if host else folder for host in range(processes)]
    for one in folders:
        shutil.rmtree(one, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    codes, texts = lab.run_each(lambda host: [*words, "--run", folders[host]], processes, ENVIRONMENT, timeout)
    return reason_of_first(codes, texts) if any(codes) else None


def lines_of(folder, method):
    """The lines of metrics that have a loss: one per step."""
    text = (folder / method.optimizer / "metrics.jsonl").read_text(encoding="utf-8")
    return [line for line in map(json.loads, text.splitlines()) if "loss" in line]


def comparison_of(folder):
    """The figures of a run: the object of its optimizer in comparison.json."""
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8"))[0]


def step_seconds(line):
    return sum(line[f"{part}_seconds"] for part in PARTS)


def timing_of(lines, round_steps):
    """Means over the median round, and the mean seconds of a step of each phase, without the very first step."""
    measured = median_round(lines[SETTLE:], step_seconds, round_steps)
    phases = {}
    for line in lines[1:]:
        phases.setdefault(line["phase"], []).append(line)
    # Of the phases in the median round only its steps count.
    for line in measured:
        phases[line["phase"]] = [other for other in measured if other["phase"] == line["phase"]]
    timing = {f"{part}_seconds": statistics.fmean(line[f"{part}_seconds"] for line in measured) for part in PARTS}
    return {
        "step_seconds": statistics.fmean(map(step_seconds, measured)),
        "step_seconds_each": [step_seconds(line) for line in lines[SETTLE:]],
        **timing,
        "bytes_per_step": statistics.fmean(line["bytes_per_step"] for line in measured),
        "bytes_counted": lines[-1]["bytes_sent"],
        "seconds_of_phase": {phase: statistics.fmean(map(step_seconds, of)) for phase, of in phases.items()},
        "skipped_steps": lines[-1]["skipped_steps"],
    }


def mean_losses(lines):
    """(step, mean of the last WINDOW losses), from the first step on that has WINDOW losses."""
    losses = [math.inf if line["loss"] is None else line["loss"] for line in lines]
    return [(lines[end - 1]["step"], statistics.fmean(losses[end - WINDOW:end]))
            for end in range(WINDOW, len(losses) + 1)]


def steps_to(lines, loss):
    """The first step at which the mean of the last losses is at most `loss`; None if there is none."""
    return next((step for step, mean in mean_losses(lines) if mean <= loss), None)


def course_of(lines, seconds_of_phase):
    """(seconds since the start, mean of the last losses) after each step, up to the first phase of unknown duration."""
    end, seconds = {}, 0.0
    for line in lines:
        if line["phase"] not in seconds_of_phase:
            break
        seconds += seconds_of_phase[line["phase"]]
        end[line["step"]] = seconds
    return [(end[step], mean) for step, mean in mean_losses(lines) if step in end]


def seconds_to(lines, loss, seconds_of_phase):
    """Seconds until the loss, from the mean duration of a step of each phase; None if not reached or not known."""
    return next((seconds for seconds, mean in course_of(lines, seconds_of_phase) if mean <= loss), None)


def phases_of(record):
    return record.get("seconds_of_phase", {"dense": record["step_seconds"]})


def told_to_loss(curves, loss, records):
    """Adds steps and seconds to the loss to each record that has a curve."""
    for label, record in records.items():
        if "failed" in record or label not in curves:
            continue
        record |= {"loss": loss, "steps_to_loss": steps_to(curves[label], loss),
                   "seconds_to_loss": seconds_to(curves[label], loss, phases_of(record))}
