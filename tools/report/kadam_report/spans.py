# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spans of time: pairs of begin and end, in seconds."""


def joined(spans, gap=0.0):
    """Sorted spans with gaps up to this length closed."""
    whole = []
    for begin, end in sorted(spans):
        if whole and begin <= whole[-1][1] + gap:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((begin, end))
    return whole


def length_of(spans):
    """Total seconds of joined spans."""
    return sum(end - begin for begin, end in spans)


def common_length(one, other):
    """Seconds in which two lists of joined spans overlap."""
    length, a, b = 0.0, 0, 0
    while a < len(one) and b < len(other):
        length += max(0.0, min(one[a][1], other[b][1]) - max(one[a][0], other[b][0]))
        if one[a][1] < other[b][1]:
            a += 1
        else:
            b += 1
    return length
