# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes name a few round numbers, whatever they show: axis_test.py"""
import package  # noqa: F401
from expect import expect
from kadam_report import texts
from kadam_report.axis import fitting_axis, linear_axis, logarithmic_axis
from kadam_report.curve import thinned, value_at, with_dots


def expect_sound(axis, smallest, largest):
    expect(axis.least <= smallest + 1e-9 * abs(smallest) and axis.most >= largest - 1e-9 * abs(largest), axis)
    expect(2 <= len(axis.ticks) <= 9 and axis.ticks == sorted(axis.ticks), smallest, largest, axis)


axis = linear_axis(0, 400, texts.steps)
expect(axis.ticks == [(0, "0"), (100, "100"), (200, "200"), (300, "300"), (400, "400")], axis)
for smallest, largest in ((0, 1e-7), (0.13, 0.17), (-3, 8), (5, 5), (0, 0), (1e299, 1e300)):
    expect_sound(linear_axis(smallest, largest, texts.plain), smallest, largest)
for largest in (1.5, 4, 30, 700, 1e5, 1e12, 1e300):
    expect_sound(logarithmic_axis(0.9, largest, texts.plain), 0.9, largest)
expect(fitting_axis(0.2, 2.3, texts.plain).logarithmic, "far apart")
for smallest, largest in ((1.5, 5.5), (0, 2.3)):
    expect(not fitting_axis(smallest, largest, texts.plain).logarithmic, smallest, largest)
axis = linear_axis(0, 13, texts.plain).end_at(13)
expect(axis.most == 13 and axis.ticks[-1] == (10, "10"), axis)

for text, written in ((texts.steps(400), "400"), (texts.steps(1500), "1500"),
                      (texts.steps(12500), "12.5k"), (texts.steps(2e6), "2M"),
                      (texts.size(999.4), "999 B"), (texts.size(999.6), "1.0 kB"), (texts.size(2.5e6), "2.50 MB"),
                      (texts.duration(119.4), "119 s"), (texts.duration(150), "3 min"),
                      (texts.duration(7500), "2 h 05 min")):
    expect(text == written, text, written)

gap = float("nan")
curve = [(10, 1.0), (20, gap), (30, 3.0), (40, 5.0)]
expect([value_at(curve, x) for x in (10, 15, 35, 40)] == [1, 1, 3, 5], "values on the way")
expect(all(value != value for value in (value_at(curve, 9), value_at(curve, 20), value_at(curve, 41))), "gaps")
expect(thinned(curve, 2) == [(20, 1.0), (40, 4.0)], thinned(curve, 2))
expect(with_dots(curve, 1)[:2] == [(9, 1.0), (11, 1.0)] and len(with_dots(curve, 1)) == 5, with_dots(curve, 1))
