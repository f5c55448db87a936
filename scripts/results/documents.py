# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of tables in docs/: those of a study in results.md; differences of all optimizers also in choosing.md, and the
rows of an optimizer on its page."""
import pathlib
import sys

from tables import a_step, accuracy, against, foreground, loss_text, whole_run

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from report import markdown, put_between_markers  # noqa: E402

DOCS = pathlib.Path(__file__).parents[2] / "docs"
MARKER = "results"


def put_table(study, workload, text, docs=DOCS):
    """Puts a table between its markers in results.md."""
    put_between_markers(docs / "results.md", f"{MARKER} {study.name} {workload.name}", text)


def with_foreground(row):
    return f"{a_step(row)}; foreground {foreground(row)}" if foreground(row) else a_step(row)


def of_optimizer(name, panels):
    """The table of an optimizer's rows in all workloads. panels: (workload, rows)."""
    head = ("workload", "method", "lr", "held-out loss", f"against {panels[0][1][0].method.label}", "accuracy",
            "whole run, less than float32", "a step")
    lines = [(workload.short, row.method.label, f"{row.rate:g}", loss_text(row), against(row, rows[0]),
              accuracy(row), whole_run(row), with_foreground(row))
             for workload, rows in panels for row in rows if row.method.optimizer == name]
    return markdown([head, *lines])


def of_all(panels):
    """The table of differences of losses, one line for each method."""
    rows = [rows for _, rows in panels]
    head = ("method", "whole run, less than float32", *(workload.short for workload, _ in panels))
    return markdown([head, *((f"`{first.method.optimizer}`{first.method.label.removeprefix(first.method.optimizer)}",
                              whole_run(first), *(against(of[k], of[0]) for of in rows))
                             for k, first in enumerate(rows[0]) if k > 0)])


def put_summaries(panels, docs=DOCS):
    """Writes the tables over all workloads. panels: (workload, rows), the same methods in each."""
    put_between_markers(docs / "choosing.md", MARKER, of_all(panels))
    for name in dict.fromkeys(row.method.optimizer for row in panels[0][1]):
        page = docs / "algorithms" / f"{name}.md"
        if page.exists():
            put_between_markers(page, MARKER, of_optimizer(name, panels))
