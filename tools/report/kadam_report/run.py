# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The contents of a run's files."""
import json
import math
import pathlib
from dataclasses import dataclass, field


class Refusal(Exception):
    """A file cannot be read or written; the message is a sentence that names it."""


@dataclass
class Line:
    """A line of metrics.jsonl."""

    step: int
    numbers: dict


@dataclass
class Caution:
    """A warning of the optimizer, with the first and the last step that gave it."""

    text: str  # text of the last such warning
    first_step: int
    last_step: int
    lines: int = 1


@dataclass
class Run:
    """The contents of one run's files; a member is empty if they do not give it."""

    folder: pathlib.Path
    optimizer: str = ""
    label: str = ""  # the optimizer, and a folder if several runs have the same one
    kind: dict = field(default_factory=dict)  # kind of the optimizer, from run.json
    model: str = ""
    data: str = ""
    facts: dict = field(default_factory=dict)  # numbers of run.json
    result: dict = field(default_factory=dict)  # numbers; only if the run has ended
    training: list = field(default_factory=list)  # lines with losses, null ones included
    evaluations: list = field(default_factory=list)  # lines with held-out losses
    phases: set = field(default_factory=set)
    cautions: dict = field(default_factory=dict)  # by kind
    starts: list = field(default_factory=list)  # of run.json: the first start, and those from checkpoints
    configuration: str = ""
    timeline: object = None
    remarks: list = field(default_factory=list)  # sentences on what is missing

    @property
    def steps(self):
        return self.training[-1].step if self.training else 0


def parsed(text):
    """The value of a JSON text; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def numbers_of(found):
    """{name: value} of the finite numbers in an object."""
    numbers = {}
    for name, value in found.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300:
            numbers[name] = float(value)
    return numbers


def member(found, name, kind):
    """A member of an object if it is of this type, else an empty value of the type."""
    value = found.get(name)
    return value if isinstance(value, kind) else kind()


def count_of(found, name):
    """A member as a whole number, 0 or more; 0 if it is not a number."""
    value = numbers_of(found).get(name, 0.0)
    return math.floor(value) if 0 <= value <= 1e15 else 0
