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

# Its losses are those of docs/results.md, whose first three tables are of its three columns.
results = (root / "docs" / "results.md").read_text()
for name, rest in re.findall(r"^\| (`\w+`(?: 4 bit| H 8)?) \| (.+) \|$", choosing.read_text(), re.M):
    rows = re.findall(rf"^\| {name.replace('`', '')} +\|.*$", results, re.M)
    rows = [row for row in rows if "±" in row][:3]
    for row, loss in zip(rows, rest.split(" | ")[1:], strict=True):
        checked += 1
        if f"| {loss} " not in row:
            mistakes.append(f"docs/choosing.md: {name} has {loss}, docs/results.md says {row}")

# The table of README.md: ratio and loss of the first table there, steps of the first table of docs/end_to_end.md at that
# rate, whose methods have the same names where they have no word after them.
hundred = (root / "docs" / "end_to_end.md").read_text().split("\n### 100mbit per host\n")[1].split("\n### ")[0]
for name, bits, _, less, loss, step in re.findall(r"^\| `(\w+)`( 4 bit)? \| (.+) \| (\S+) \| (\S+) \| (\d+) ms \|$", readme, re.M):
    checked += 1
    row = next(row for row in re.findall(rf"^\| {name}{bits} +\|.*$", results, re.M) if "±" in row)
    if f"| {loss} " not in row or f"| {less} " not in row:
        mistakes.append(f"README.md: {name} has {less} and {loss}, docs/results.md says {row}")
    row = re.search(rf"^\| {name} +\|.*$", hundred, re.M)[0]
    if not re.match(rf"\| {name} +\| {step} ", row):
        mistakes.append(f"README.md: {name} takes {step} ms, docs/end_to_end.md says {row}")
end(mistakes, checked)
