# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A range of numbers with a few round ones to name."""
import math
from dataclasses import dataclass, field

INTERVALS = 4


@dataclass
class Axis:
    """An axis from least to most. ticks: pairs of a number and its text."""

    least: float
    most: float
    logarithmic: bool = False
    ticks: list = field(default_factory=list)

    def end_at(self, largest):
        """Cuts the axis at `largest`, with the ticks beyond; returns it."""
        if largest > self.least:
            self.most = largest
            self.ticks = [tick for tick in self.ticks if tick[0] <= largest * (1 + 1e-9)]
        return self


def round_step(step):
    """The round number, 1, 2 or 5 times a power of ten, that is not below step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= 0.999 * step), 10 * power)


def linear_axis(smallest, largest, text):
    """A linear axis from at most the smallest to at least the largest, with about five ticks."""
    if largest - smallest <= 1e-6 * abs(largest):  # all numbers are equal: they lie in the middle
        around = 0.1 * abs(largest) if largest else 0.5
        smallest, largest = smallest - around, largest + around
    step = round_step((largest - smallest) / INTERVALS)
    first, last = math.floor(smallest / step + 1e-6), math.ceil(largest / step - 1e-6)
    return Axis(first * step, last * step, ticks=[(k * step, text(k * step)) for k in range(first, last + 1)])


def factors_of(decades):
    """Multiples within a decade that get ticks, for a range of this many decades."""
    for most, factors in ((0.8, (1, 1.5, 2, 3, 4, 5, 7)), (2, (1, 2, 5)), (3, (1, 3))):
        if decades <= most:
            return factors
    return (1,)


def logarithmic_axis(smallest, largest, text):
    """A logarithmic axis for numbers above 0, from at most the smallest to at least the largest."""
    axis = Axis(smallest / 1.25, largest * 1.25, logarithmic=True)
    first, last = math.log10(axis.least), math.log10(axis.most)
    stride = max(1, math.ceil((last - first) / 7))
    values = [factor * 10.0 ** power for power in range(math.floor(first), math.floor(last) + 1, stride)
              for factor in factors_of(last - first)]
    axis.ticks = [(value, text(value)) for value in values if axis.least <= value <= axis.most]
    return axis


def fitting_axis(smallest, largest, text):
    """An axis that is logarithmic if all numbers are above 0 and far apart, else linear."""
    far_apart = smallest > 0 and largest > 4 * smallest
    return (logarithmic_axis if far_apart else linear_axis)(smallest, largest, text)
