# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spans of time, and what a trace says of them, whole and broken: read_trace_test.py"""
import pathlib
import tempfile

import package
from expect import expect
from kadam_report.read_trace import read_trace
from kadam_report.run import Run
from kadam_report.spans import common_length, joined, length_of

TRACE = ('{"traceEvents":[{"name":"process_labels","ph":"M","pid":0,"args":{"labels":"clock +- 5 us","dur":7}},'
         '{"name":"kadam-train::gradient","ph":"X","pid":0,"tid":0,"ts":1000,"dur":600},'
         '{"args":{"bytes":9,"ts":3},"name":"receive","ph":"X","pid":0,"tid":3,"ts":900,"dur":300},'
         '{"name":"kadam-train::step","ph":"X","pid":0,"tid":0,"ts":1000,"dur":2e3}],'
         '"other":[{"name":"kadam-train::step","ph":"X","pid":0,"ts":9000,"dur":1}]}')


def check_spans():
    spans = [(5, 6), (1, 2), (2, 3), (1, 1.5), (6.5, 7)]
    expect(joined(spans) == [(1, 3), (5, 6), (6.5, 7)] and joined(spans, 0.5) == [(1, 3), (5, 7)], joined(spans))
    expect(joined([]) == [] and joined([(1, 4), (2, 3)]) == [(1, 4)], "nothing, or one inside of another")
    one, other = [(0, 2), (3, 6)], [(1, 4), (5, 5.5), (9, 10)]
    expect(length_of(one) == 5 and common_length(one, other) == 1 + 1 + 0.5, common_length(one, other))
    expect(common_length(other, one) == 2.5 and common_length(one, []) == 0, common_length(other, one))


def near(one, other):
    return abs(one - other) < 1e-12


def check_whole(run):
    (run.folder / "trace.json").write_text(TRACE)
    read_trace(run)
    timeline = run.timeline
    expect(timeline and timeline.steps == 1 and near(timeline.end, 2e-3) and len(timeline.ranks) == 1, run)
    (rank,) = timeline.ranks
    expect(near(rank.clock_error, 5e-6) and near(length_of(rank.spans["compute"]), 6e-4), rank)
    # What was before the step is cut off; a message without its exchange is one.
    expect(near(length_of(rank.spans["background message"]), 2e-4), rank)
    expect(near(length_of(rank.spans["background"]), 2e-4), rank)


def check_broken(folder):
    taken = 0
    for broken in package.changed(TRACE, 3000):
        (folder / "trace.json").write_bytes(broken)
        run = Run(folder)
        read_trace(run)
        expect((run.timeline is None) == bool(run.remarks), broken, run)
        taken += run.timeline is not None
    expect(0 < taken < 3000, taken)
    for broken in (TRACE.replace("600", 5000 * "6"), 100_000 * "["):
        (folder / "trace.json").write_text(broken)
        run = Run(folder)
        read_trace(run)
        expect(run.timeline is None and "it is not valid JSON" in run.remarks[0], run)


check_spans()
with tempfile.TemporaryDirectory() as name:
    check_whole(Run(pathlib.Path(name)))
    check_broken(pathlib.Path(name))
