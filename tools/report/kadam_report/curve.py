# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Curves: lists of points (x, y), where y is NaN in a gap."""
import math

MOST_POINTS = 400


def has_points(curve):
    return any(math.isfinite(y) for _, y in curve)


def points_to_join(curve):
    """Number of points to join, so that a curve has no more points than a picture can show and pages stay small."""
    return -(-len(curve) // MOST_POINTS)


def thinned(curve, group):
    """A curve of the means of `group` points each; NaN where all of them are NaN."""
    if group <= 1:
        return curve
    thin = []
    for begin in range(0, len(curve), group):
        part = curve[begin : begin + group]
        values = [y for _, y in part if math.isfinite(y)]
        thin.append((part[-1][0], sum(values) / len(values) if values else math.nan))
    return thin


def value_at(curve, x):
    """The last value at or before x; NaN before the curve, after its end and in a gap."""
    before = [y for place, y in curve if place <= x * (1 + 1e-9)]
    has_ended = len(before) == len(curve) and (not curve or curve[-1][0] < x * (1 - 1e-9))
    return math.nan if has_ended or not before else before[-1]


def with_dots(curve, dot):
    """The curve with each isolated point as a line of length 2 dot, so that it can be seen."""
    seen = []
    for k, (x, y) in enumerate(curve):
        beside = [curve[other][1] for other in (k - 1, k + 1) if 0 <= other < len(curve)]
        alone = math.isfinite(y) and not any(math.isfinite(value) for value in beside)
        seen += [(x - dot, y), (x + dot, y)] if alone else [(x, y)]
    return seen
