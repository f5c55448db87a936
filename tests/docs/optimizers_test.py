# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages say of each optimizer what the program says: its kind, and the defaults of its options:
optimizers_test.py ROOT PROGRAM"""
import re
import sys

from pages import end, root_of
from program import Program

root, known = root_of(sys.argv[1]), Program(sys.argv[2:]).known
mistakes, checked = [], 0


def expect_equal(what, shown, wanted):
    global checked
    checked += 1
    if shown != wanted:
        mistakes.append(f"{what}: the page says {shown}, the program {wanted}")


def rows_of(page, heading):
    """The rows of the first table behind a heading; cells as texts."""
    part = page.split(f"\n## {heading}\n")[1]
    table = re.search(r"^\|.*\n\|[-|]+\|\n((?:\|.*\n)+)", part, re.M)[1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def value_of(text):
    """As JSON has it: a number (fractions are worked out), true or false, or a text."""
    text = text.strip().strip("`").strip('"')
    if re.fullmatch(r"\d+/\d+", text):
        numerator, denominator = text.split("/")
        return int(numerator) / int(denominator)
    try:
        return {"true": True, "false": False}[text] if text in ("true", "false") else float(text)
    except ValueError:
        return text


readme = (root / "docs/algorithms/README.md").read_text()
for name in known:
    expect_equal(f"docs/algorithms/{name}.md exists", (root / f"docs/algorithms/{name}.md").exists(), True)
honoured = {row[0].strip("`"): row for row in rows_of(readme, "What is honoured")}
expect_equal("docs/algorithms/README.md, What is honoured", sorted(honoured), sorted(known))
for name, (_, clipping, _, _, dense, *_, inactive, _, differ) in honoured.items():
    where, kind = f"What is honoured, {name}", known[name]
    expect_equal(f"{where}, clipping", clipping.startswith("exact"), bool(kind["dense"] or kind["warmup"] or kind["shards"]))
    expect_equal(f"{where}, dense", dense == "no effect", kind["dense"])
    expect_equal(f"{where}, inactive coordinates", inactive != "none", kind["freezes"])
    expect_equal(f"{where}, ranks differ", differ != "no", kind["ranks_differ"])

# Where kadam-plan leads, docs/choosing.md leads as well.
choosing = {row[1].split("`")[1]: row[0] for row in rows_of((root / "docs/choosing.md").read_text(), "2. Which optimizer?")}
for name, kind in known.items():
    if kind["suits"]:
        expect_equal(f"docs/choosing.md, {name}, where {kind['suits']}", kind["suits"] in choosing.get(name, ""), True)

# A table of options is that of the optimizers in the line before it. A default may be followed by those of others.
section = (root / "docs/configuration.md").read_text().split("\n## optimizer\n")[1].split("\n## ")[0]
for before, table in re.findall(r"^(.*:)\n\n\| key \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", section, re.M):
    owners = [name for name in known if f"`{name}`" in before] or list(known)
    for line in table.splitlines():
        keys, defaults, *_ = [cell.strip() for cell in line.strip("|").split("|")]
        main, *others = defaults.split("; ")
        special = {other.split(":")[0].strip("` "): other.split(":")[1].split(",")[0] for other in others}
        names = re.findall(r"`(\w+)`", keys)
        for key, value in zip(names, main.split(", ") if len(names) > 1 else [main], strict=True):
            for name in owners:
                options = {option["name"]: option["default"] for option in known[name]["options"]}
                if key == known[name]["warmup"] and known[name]["needs_warmup"]:
                    expect_equal(f"{key} of {name} is needed", value in ("none, needed", "0"), True)
                elif key in options:
                    expect_equal(f"default of {key} of {name}", value_of(special.get(name, value)), options[key])
end(mistakes, checked)
