# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of measurements, and the places of a document that hold them."""
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "performance.md"
NOTABLE_SHARE = 0.05


def markdown(rows):
    """A Markdown table whose first row is its head, padded for reading in a terminal."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def put_between_markers(document, name, text):
    """Replaces the text between <!-- NAME --> and <!-- /NAME --> in a document; ends the program without them."""
    first, last = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    whole = document.read_text(encoding="utf-8")
    if whole.count(first) != 1 or whole.count(last) != 1 or whole.index(first) > whole.index(last):
        sys.exit(f"{document} has no place for the table: it needs a line {first.strip()} and, below it, a line {last}")
    before, after = whole[:whole.index(first) + len(first)], whole[whole.index(last):]
    document.write_text(f"{before}{text}\n{after}", encoding="utf-8")


def processor():
    """The name of the processor, or of its architecture where Linux does not tell."""
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":")[1].strip()
    return platform.machine()


def today_and_commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False,
                          cwd=DOCUMENT.parent)
    return time.strftime("%Y-%m-%d"), f"commit {done.stdout.strip() or 'unknown'}"


def disturbance(shares):
    """A sentence where other programs used the processors, else nothing. shares: of the processors, before each
    measurement."""
    others = statistics.fmean(shares or [0.0])
    return (f" **Not a quiet machine**: other programs used {100 * others:.0f} % of the processors meanwhile."
            if others > NOTABLE_SHARE else "")


def bytes_text(count):
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def power_of_two(number):
    """A number as text: 2^26 if it is a power of two, else 1,234."""
    return f"2^{number.bit_length() - 1}" if number & (number - 1) == 0 else f"{number:,}"
