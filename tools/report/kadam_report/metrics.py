# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads metrics.jsonl."""
from kadam_report.run import Caution, Line, Refusal, numbers_of, parsed
from kadam_report.texts import plural

WARNING = "warning_"


def read_metrics(run):
    """Reads metrics.jsonl into a run. Leaves out incomplete lines, with a remark; refuses a file without a line of
    kadam-train."""
    file = run.folder / "metrics.jsonl"
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise Refusal(f"{file}: cannot be read") from error
    unread = sum(not add_line(run, line) for line in lines if line)
    if unread and not run.training and not run.evaluations:
        raise Refusal(f'{file}: expected a JSON object with "step" and "loss" in each line, as kadam-train writes '
                      "them; found none")
    if unread:
        are = "is" if unread == 1 else "are"
        run.remarks.append(f"{plural(unread, 'line')} of metrics.jsonl {are} incomplete and left out.")
    if not run.training:
        run.remarks.append("No step has been logged.")


def add_line(run, text):
    """Adds a line to a run; returns False if kadam-train has not written it."""
    line = parsed(text)
    if not isinstance(line, dict) or type(line.get("step")) is not int or abs(line["step"]) > 1e15:
        return False
    if "jump" in line:  # of kadam-insitu, in other units
        return False
    if "held_out_loss" in line:
        run.evaluations.append(Line(line["step"], numbers_of(line)))
    elif "loss" in line:
        add_cautions(run, line)
        run.phases.add(str(line.get("phase")))
        run.training.append(Line(line["step"], numbers_of(line)))
    else:
        return False
    return True


def add_cautions(run, line):
    for name, text in line.items():
        if not name.startswith(WARNING) or not isinstance(text, str):
            continue
        known = run.cautions.get(name)
        if known is None:
            run.cautions[name] = Caution(text, line["step"], line["step"])
        else:
            known.text, known.last_step, known.lines = text, line["step"], known.lines + 1
