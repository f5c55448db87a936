# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers on pages that are worked or quoted are those of the library and of the page they come from:
numbers_test.py ROOT KADAM-PLAN"""
import json
import re
import shlex
import sys

from pages import blocks, end, root_of
from program import Program

root, plan = root_of(sys.argv[1]), Program(sys.argv[2:])
algorithms = root / "docs" / "algorithms"
mistakes, checked = [], 0


def predictions(*arguments):
    """Of the case that is worked on the pages: d = 279,424, n = 4."""
    text = plan.run(0, "--parameters", "279424", "--ranks", "4", "--rate", "1gbit", "--memory", "10GB/s", "--json",
                     *arguments)
    return {p["name"]: p for p in json.loads(text)["predictions"]}


def section(page, heading):
    return page.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def expect_worked(name, heading, value, what):
    """Bold on a page: the result of what is worked there."""
    global checked
    checked += 1
    page = (algorithms / f"{name}.md").read_text()
    if f"**{value:,.0f}**" not in section(page, heading):
        mistakes.append(f"docs/algorithms/{name}.md, {heading}: {what} is {value:,.0f} bytes")


def expect_memory(name, prediction):
    expect_worked(name, "Memory", prediction["state_bytes"], "state")
    if not plan.known[name]["per_tensor"]:  # theirs depends on the tensors, which a plan does not know
        expect_worked(name, "Memory", prediction["workspace_bytes"], "workspace")


# Bytes of a step after the warm-up, exact means now and then included where a page has them; where steps differ
# according to a policy, its page works out those of each kind.
usual = predictions()
for name, kind in plan.known.items():
    if "sync_interval_max" not in {option["name"] for option in kind["options"]}:
        expect_worked(name, "Bytes", usual[name]["settled_bytes_per_step"], "a step")
    expect_memory(name, usual[name])
table = section((algorithms / "README.md").read_text(), "Memory and bytes")
rows = re.findall(r"^\| `(\w+)` \|.*\| ([\d.]+ MB)[^|]*\| ([\d.]+ MB)[^|]*\|$", table, re.M)
if sorted(name for name, _, _ in rows) != sorted(plan.known):
    mistakes.append("docs/algorithms/README.md: the table of memory has not every optimizer once")
for name, *memory in rows:
    parts = ("state",) if plan.known[name]["per_tensor"] else ("state", "workspace")
    for part, shown_bytes in zip(parts, memory):
        checked += 1
        expected = f"{usual[name][f'{part}_bytes'] / 1e6:.2f} MB"
        if shown_bytes != expected:
            mistakes.append(f"docs/algorithms/README.md: {part} of {name} is {expected}")
bf16 = predictions("--set", "loco.parameters=bf16", "--exchange", "owner")
expect_worked("adam", "Bytes", usual["adam, bf16"]["settled_bytes_per_step"], "a step with gradients of 16 bits")
expect_worked("loco", "Bytes", bf16["loco"]["settled_bytes_per_step"], "a step with bf16")
expect_memory("loco", bf16["loco"])
expect_memory("locally_accumulated_adam", bf16["locally_accumulated_adam"])
expect_memory("divisible_adam", bf16["divisible_adam"])

# The sample output of docs/choosing.md is what its command prints.
choosing = root / "docs" / "choosing.md"
shown = [code for _, code in blocks(choosing)]
command = next(code for code in shown if code.startswith("kadam-plan "))
printed = plan.run(0, *shlex.split(command)[1:]).splitlines()
for line in filter(None, shown[shown.index(command) + 1].splitlines()):
    checked += 1
    if line not in printed:
        mistakes.append(f"docs/choosing.md: kadam-plan does not print: {line}")

# The table of docs/quickstart.md is that of README.md.
readme = (root / "README.md").read_text()
for line in re.findall(r"^\w+ +[\d.]+ .*x$", (root / "docs" / "quickstart.md").read_text(), re.M):
    checked += 1
    if line not in readme:
        mistakes.append(f"docs/quickstart.md: README.md does not have: {line}")


def table_rows(text):
    """{first cell, without code marks: the other cells} of all tables in a text, without heads; of equal names the first
    counts."""
    rows = {}
    for line in re.findall(r"^\| .*\|$(?!\n\|-)", text, re.M):
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows.setdefault(name.replace("`", ""), cells)
    return rows


# Tables that scripts/results.sh writes on other pages are those of docs/results.md.
results = (root / "docs" / "results.md").read_text()
parts = {workload: results.split(f"<!-- results convergence {workload} -->")[1] for workload in ("transformer", "vit", "cnn")}
convergence = {workload: table_rows(part.split("\nHeld-out loss")[0]) for workload, part in parts.items()}
differences = table_rows(section(choosing.read_text(), "3. What it costs in loss"))
for name, cells in differences.items():
    for of_workload, difference in zip(convergence.values(), cells[1:], strict=True):
        checked += 1
        if difference != of_workload[name][3]:
            mistakes.append(f"docs/choosing.md: {name} has {difference}, docs/results.md says {of_workload[name]}")
for name in plan.known:
    lines = re.findall(r"^\|.* ± .*\|$", (algorithms / f"{name}.md").read_text(), re.M)
    if not lines:
        mistakes.append(f"docs/algorithms/{name}.md: nothing is measured")
    for line in lines:
        workload, method, _, loss, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        checked += 1
        if convergence[workload.lower()][method][2] != loss:
            mistakes.append(f"docs/algorithms/{name}.md: {method} has {loss}, docs/results.md says otherwise")

# The table of README.md: bytes and loss from there, times from docs/end_to_end.md, where a method has one row.
slow = table_rows((root / "docs" / "end_to_end.md").read_text().split("\n### 10 Mbit/s per host\n")[1].split("\n### ")[0])
shown = re.findall(r"^\| `(\w+)`( [^|]+?)? \| [^|]+ \| (\S+) \| (\d\S+) \| ([^|]+) \|$", readme, re.M)
if {name for name, *_ in shown} != set(plan.known):
    mistakes.append("README.md: the table of optimizers has not every one")
for name, variant, less, loss, time in shown:
    checked += 1
    cells = convergence["transformer"][name + variant]
    if cells[0] != less or not cells[2].startswith(f"{loss} "):
        mistakes.append(f"README.md: {name}{variant} has {less} and {loss}, docs/results.md says {cells}")
    measured = (slow.get(name + variant) or slow[name])[-1]
    if time != (measured or "not in 300 steps"):
        mistakes.append(f"README.md: {name}{variant} has {time}, docs/end_to_end.md says {measured or 'nothing'}")
end(mistakes, checked)
