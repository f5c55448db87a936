# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the files of a run say."""
import json
import math
import pathlib
from dataclasses import dataclass, field


class Refusal(Exception):
    """What cannot be read or written, in a sentence that names it."""


@dataclass
class Line:
    """A line of metrics.jsonl."""

    step: int
    numbers: dict


@dataclass
class Caution:
    """A warning of the optimizer, as long as it was given."""

    text: str  # the last one's
    first_step: int
    last_step: int
    lines: int = 1


@dataclass
class Run:
    """What the files of one run say. What they do not say is empty."""

    folder: pathlib.Path
    optimizer: str = ""
    label: str = ""  # the optimizer, and what tells it from others of the same name
    kind: dict = field(default_factory=dict)  # of optimizer, as run.json says it
    model: str = ""
    data: str = ""
    facts: dict = field(default_factory=dict)  # numbers of run.json
    result: dict = field(default_factory=dict)  # numbers: only of a run that came to its end
    training: list = field(default_factory=list)  # lines with losses, null ones included
    evaluations: list = field(default_factory=list)  # lines with held-out losses
    phases: set = field(default_factory=set)
    cautions: dict = field(default_factory=dict)  # by kind
    starts: list = field(default_factory=list)  # objects: the first, and those that went on from a checkpoint
    configuration: str = ""
    timeline: object = None
    remarks: list = field(default_factory=list)  # what is missing, in sentences

    @property
    def steps(self):
        return self.training[-1].step if self.training else 0


def parsed(text):
    """None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def numbers_of(found):
    """The finite numbers of an object, by name; what else is in it is left out."""
    numbers = {}
    for name, value in found.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300:
            numbers[name] = float(value)
    return numbers


def member(found, name, kind):
    """An empty one where there is no member of this kind."""
    value = found.get(name)
    return value if isinstance(value, kind) else kind()


def count_of(found, name):
    """A whole number from 0 on; 0 for what is none."""
    value = numbers_of(found).get(name, 0.0)
    return math.floor(value) if 0 <= value <= 1e15 else 0
