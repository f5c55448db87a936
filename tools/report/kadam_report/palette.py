# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Colours and dashes of runs, the same in every figure of the page."""
from kadam_report.figure import Key

# Colours of Okabe and Ito and of Tol, which people with any kind of colour vision tell apart.
COLOURS = ("#0072b2", "#d55e00", "#e69f00", "#332288", "#999933", "#009e73", "#56b4e9", "#cc79a7", "#882255", "#44aa99",
           "#ddaa33")
DENSE_COLOURS = ("#000000", "#888888")
DASHES = ((), (9, 4), (3, 3), (12, 3, 3, 3), (6, 3, 1, 3))

# Where time of a step goes, in the order in which it happens: light, for dark numbers on it; of Tol's light scheme.
STEP_PARTS = {"compute": "#bbcc33", "wait": "#dddddd", "encode": "#99ddff", "exposed exchange": "#ee8866",
              "decode": "#77aadd", "rest": "#eedd88"}
EXCHANGE, MESSAGE, IDLE, LEVEL = "#c5e5dc", "#228866", "#f2f2f2", "#777777"


def colours_of(runs):
    """{optimizer: colour}. Dense ones are black and grey. Others have the colour of their place among Kadam's
    optimizers, which run.json gives, so it is the same on all pages; without a place, one that is left."""
    dense, places = {}, {}
    for run in sorted(runs, key=lambda run: not run.kind):  # runs whose run.json gives a kind come first
        place = run.kind.get("place")
        dense.setdefault(run.optimizer, run.kind.get("dense", run.phases == {"dense"}) is True)
        if type(place) is int and place >= 0:
            places[run.optimizer] = place
    for name in dense:
        taken = {place for other, place in places.items() if dense[other] == dense[name]}
        places.setdefault(name, next(place for place in range(len(dense) + 1) if place not in taken))
    return {name: (DENSE_COLOURS[place % 2] if dense[name] else COLOURS[place % len(COLOURS)])
            for name, place in places.items()}


def styles_of(runs):
    """A key for each run: runs of one optimizer differ in their dashes."""
    colours, seen, styles = colours_of(runs), {}, []
    for run in runs:
        times = seen[run.optimizer] = seen.get(run.optimizer, -1) + 1
        styles.append(Key(run.label, colours[run.optimizer], DASHES[times % len(DASHES)]))
    return styles
