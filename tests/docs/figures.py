# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured figures in the running text of pages, and the tables and outputs that print them."""
import functools
import re
from dataclasses import dataclass, field, replace

from pages import anchors

# Dimension and size of each unit. What is a "count" is worked out or set and not measured: bytes of a format, KiB of an
# option, bit/s of a link.
UNITS = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), ("time", 1e-9)),
    **dict.fromkeys(("µs", "us", "microsecond", "microseconds"), ("time", 1e-6)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("time", 1e-3)),
    **dict.fromkeys(("s", "second", "seconds"), ("time", 1.0)),
    **dict.fromkeys(("min", "minute", "minutes"), ("time", 60.0)),
    **dict.fromkeys(("h", "hour", "hours"), ("time", 3600.0)),
    "kB": ("size", 1e3), "KB": ("size", 1e3), "MB": ("size", 1e6), "GB": ("size", 1e9), "TB": ("size", 1e12),
    "MB/s": ("rate", 1e6), "GB/s": ("rate", 1e9), "TB/s": ("rate", 1e12),
    "%": ("share", 0.01), "times": ("ratio", 1.0), "x": ("ratio", 1.0), "nats": ("loss", 1.0),
    **dict.fromkeys(("B", "byte", "bytes", "bit", "bits", "KiB", "MiB", "GiB", "kbit/s", "Mbit/s", "Gbit/s", "MHz", "GHz",
                     "million", "billion", "M", "K", "k"), ("count", 1.0)),
}
PURE = (None, "ratio", "loss", "label")  # dimensions of numbers that have a unit in one place and none in another
WORDS = "|".join(sorted((re.escape(unit) for unit in UNITS if unit not in ("x", "%")), key=len, reverse=True))
NUMBER = re.compile(r"(?<![\w.,/^⁻])(?<![\^A-Za-z]-)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?"
                    r"(?:(?![\w^⁰¹²³⁴-⁹/]|[.,]\d|-[A-Za-z])|(?=x(?!\w)))")
UNIT = re.compile(rf"x(?!\w)| ?%| (?:{WORDS})(?![\w/])")
HEAD_UNIT = re.compile(rf"(?<![\w/])(?<!\d )(?:{WORDS}|%)(?![\w/])")
# What stands between two numbers of which only the last one, or only the first one, says the unit of both.
FORWARDS = re.compile(r"(?:,? (?:to|and|or|of|instead of|in place of) (?:up to |about )?|, | \()")
BACKWARDS = re.compile(r" (?:instead of|in place of) ")


@dataclass(frozen=True)
class Number:
    text: str
    value: float  # as it is written
    half: float   # of a unit of its last digit
    dimension: str | None
    size: float   # of its unit
    decimals: bool
    first: int
    last: int


def rounding(whole, decimals):
    """Half of a unit of the last digit that counts: the zeros at the end of 250 or 1000 may be round ones."""
    if decimals:
        return 0.5 * 10 ** (1 - len(decimals))
    digits = whole.replace(",", "")
    zeros = len(digits) - len(digits.rstrip("0"))
    return max(0.5, min(0.5 * 10 ** zeros, 0.025 * int(digits))) if len(digits) > 2 else 0.5


def numbers(text, unit=None):
    """All numbers of a text; unit is that of numbers which have none themselves."""
    found = list(NUMBER.finditer(text))
    marks = [UNIT.match(text, one.end()) for one in found]
    units = [mark and mark[0].strip() for mark in marks]
    ends = [(mark or one).end() for one, mark in zip(found, marks)]
    for k in reversed(range(len(found) - 1)):
        if not units[k] and FORWARDS.fullmatch(text, ends[k], found[k + 1].start()):
            units[k] = units[k + 1]
    for k in range(1, len(found)):
        if not units[k] and BACKWARDS.fullmatch(text, ends[k - 1], found[k].start()):
            units[k] = units[k - 1]
    result = []
    for one, its, end in zip(found, units, ends):
        dimension, size = UNITS[its or unit] if its or unit else (None, 1.0)
        value = float(one[1].replace(",", "") + (one[2] or ""))
        result.append(Number(text[one.start():end], value, rounding(one[1], one[2]), dimension, size, bool(one[2]),
                             one.start(), end))
    return result


@dataclass
class Part:
    """A heading, a paragraph or an item of a list, a table, or a block of code."""
    kind: str  # "heading", "text", "table", "output", "commands", "code"
    line: int
    level: int = 0  # of a heading
    lines: list = field(default_factory=list)
    measured: bool = False  # a paragraph that says by which command, and when

    @functools.cached_property
    def losses(self):
        """The numbers of each column of losses, whose differences pages tell. Those of many rows have every value."""
        heads, *rows = map(cells, self.lines) if self.kind == "table" else [[]]
        if len(rows) > 14:
            return []
        columns = [k for k, head in enumerate(heads) if "loss" in head or NUMBER.fullmatch(head)]
        return [[number for row in rows[1:] for number in numbers(row[k])[:1] if number.decimals] for k in columns]

    @functools.cached_property
    def printed(self):
        """Those of a table, an output, a command or a measured paragraph. One among words is a label if it has no unit."""
        if self.kind == "table":
            units = [unit_of(head) for head in cells(self.lines[0])]
            found = [(number, not re.search(r"[A-Za-z]", cell.replace(" to ", "")))
                     for k, line in enumerate(self.lines) for cell, unit in zip(cells(line), units)
                     for number in numbers(cell.replace("`", ""), unit if k else None)]
        elif self.kind in ("output", "commands"):
            lines = [re.sub(r"(?<=\d)(?=[a-zA-Z])", " ", line) for line in self.lines]
            found = [(number, False) for line in lines for number in numbers(line)]
        else:
            lines = [NOT_TEXT.sub(" ", line) for line in self.lines if self.measured]
            found = [(number, False) for line in lines for number in numbers(line)]
        return [number if number.dimension or alone else replace(number, dimension="label") for number, alone in found]


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def unit_of(head):
    """The unit that the head of a column names, if it names one."""
    named = HEAD_UNIT.findall(head)
    return named[-1] if named else None


def parts_of(text):
    """The parts of a page in order. What stands between the markers of a program is its output, and its headings begin no
    sections."""
    parts, block, marker, gap = [], None, None, True
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(\S*)", line)
        mark = re.match(r"<!-- (/?)(.+) -->", line)
        if block:
            if fence:
                block = None
            else:
                block.lines.append(line)
        elif fence:
            block = Part({"": "output", "text": "output", "sh": "commands"}.get(fence[1], "code"), number)
            parts.append(block)
        elif mark:
            marker = None if mark[1] else mark[2]
        elif heading := re.match(r"(#+) ", line):
            parts.append(Part("heading", number, len(heading[1]) + (6 if marker else 0), [line[len(heading[0]):]]))
        elif line.strip():
            kind = "table" if line.lstrip().startswith("|") else "output" if marker else "text"
            if gap or parts[-1].kind != kind or re.match(r" *(?:[-*]|\d+\.) ", line):
                parts.append(Part(kind, number))
            parts[-1].lines.append(line)
        gap = not line.strip()
    return parts


class Page:
    def __init__(self, text):
        self.parts = parts_of(text)
        for k, part in enumerate(self.parts):
            part.measured = part.kind == "text" and says_how(self, k)
        headings = [k for k, part in enumerate(self.parts) if part.kind == "heading"]
        self.anchors = dict(zip(anchors([self.parts[k].lines[0] for k in headings]), headings))

    def section(self, first):
        """The parts from a heading up to the next one that is not below it."""
        level = self.parts[first].level
        last = next((k for k in range(first + 1, len(self.parts)) if 0 < self.parts[k].level <= level), len(self.parts))
        return slice(first, last)

    def section_around(self, k):
        """The section in which a part is: of the second level, or what stands before the first of these."""
        bounds = [j for j, part in enumerate(self.parts) if part.level == 2]
        return slice(max((j for j in bounds if j <= k), default=0), min((j for j in bounds if j > k), default=None))


DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b|\bthe same (?:machine and )?day\b")
COMMAND = re.compile(r"`(?:[A-Z_]+=\S+ )*(?:(?:scripts|build|build-\w+|\.ci)/[^`]+|"
                     r"(?:kadam-\w+|mpirun|ctest|python3) [^`]+)`")
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
# No running text: code, where links lead, addresses, comments, dates, versions of three numbers.
NOT_TEXT = re.compile(r"`[^`]*`|(?<=\])\([^)]*\)|https?://\S+|arXiv:\S+|\b20\d\d-\d\d-\d\d\b|\b\d+(?:\.\d+){2,}\b")
SENTENCE = re.compile(r"(?<=[.!?])[*)]* +(?=[^a-z])")
PROGRAMS = "PyTorch|torch|transformers|accelerate|Kokkos|MPI|MPICH|Spack|Python|CMake|nvcc|CUDA|ROCm|Slurm|clang|version"
# What stands before a number that is set, a version, a goal or a count of runs, and no measurement; and after one.
SET = re.compile(r"[=≥≤<>√] ?[-+]?$|"
                 rf"\b(?:{PROGRAMS}|(?:learning )?rates?(?: of)?|densit(?:y|ies)(?: of)?|momentum|default|meet|"
                 r"deviation of \$\\ln \\sigma\$) \(?$|"
                 r"\b[Ff]loors? of (?:\d[\d.]* and )?$|\b(?:wanted|aim|goal)\b[^.;()]{0,30}$|\bin turn, $")
GOAL = re.compile(r",? (?:was|were) wanted\b|(?: to [\d.]+)?\.x\b")
# Times and shares that a program or a test keeps to.
LIMIT = re.compile(r"\b(?:within|after|at most|at least|more than|less than|longer than|up to|every|down for) $")
# Sentences that say what others have measured, what a test wants or, to the end of the paragraph, what is worked out.
OF_OTHERS = re.compile(r"\b(?:papers?|[Pp]ublished)\b|\bThe test\b")
WORKED = re.compile(r"\bWorked numbers?:")


@dataclass(frozen=True)
class Figure:
    line: int
    number: Number
    sentence: str


def is_measured(number, before, after, sentence, strict):
    if number.dimension == "count" or not (number.dimension or number.decimals):
        return False
    if strict:
        return not SET.search(before)
    limit = number.dimension in ("time", "share") and LIMIT.search(before)
    return not (limit or SET.search(before) or GOAL.match(after) or OF_OTHERS.search(sentence))


def figures_of(part, strict=False):
    """Those of a paragraph; strict takes limits and what is quoted for measured as well."""
    for k, line in enumerate(part.lines):
        text = NOT_TEXT.sub(lambda found: " " * len(found[0]), line)
        found = WORKED.search(text)
        text = text[:found.start()] + " " * (len(text) - found.start()) if found else text
        starts = [0, *(found.end() for found in SENTENCE.finditer(line)), len(line)]
        for number in numbers(text):
            first, last = next((a, b) for a, b in zip(starts, starts[1:]) if number.first < b)
            if is_measured(number, text[first:number.first], text[number.last:last], text[first:last], strict):
                yield Figure(part.line + k, number, line[first:last].strip())


def same(figure, number):
    """Whether a number that is printed is the figure, or rounds to it. A column may leave the unit of its numbers open."""
    comparable = figure.dimension == number.dimension or None in (figure.dimension, number.dimension) or (
        figure.dimension in PURE and number.dimension in PURE)
    size = number.size / figure.size if figure.dimension == number.dimension else 1.0
    return comparable and abs(figure.value - number.value * size) <= 1.0001 * figure.half


def is_difference(figure, a, b):
    size = b.size / a.size
    return a.dimension == b.dimension and figure.dimension in (a.dimension, None) and abs(
        a.value - b.value * size - figure.value * figure.size / a.size) <= 1.0001 * (figure.half + a.half + b.half * size)


def is_worked(figure, a, b):
    """Whether a figure is the ratio, the change in per cent or the difference of two others."""
    size = b.size / a.size
    if a.dimension != b.dimension or a.value <= b.value * size or b.value <= b.half:
        return False
    low, high = (a.value - a.half) / (b.value + b.half) / size, (a.value + a.half) / (b.value - b.half) / size
    ways = {"ratio": [(low, high)], None: [(low, high)],
            "share": [(low - 1, high - 1), (1 - 1 / low, 1 - 1 / high), (1 / high, 1 / low)]}.get(figure.dimension, [])
    value, half = figure.value * figure.size, figure.half * figure.size
    return any(low - half <= value <= high + half for low, high in ways) or is_difference(figure, a, b)


def says_how(page, k):
    """Whether a paragraph, or the commands before it, say by which command and when it is measured."""
    text, before = "\n".join(page.parts[k].lines), page.parts[max(k - 1, 0)]
    after = page.parts[min(k + 1, len(page.parts) - 1)]
    if text.endswith(":") and after.kind == "table":  # its caption: as the text before it, or under it, says
        below = page.parts[min(k + 2, len(page.parts) - 1)]
        return DATE.search(text) or DATE.search("\n".join(below.lines)) or (before.kind == "text" and says_how(page, k - 1))
    return DATE.search(text) and (COMMAND.search(text) or before.kind == "commands")


def is_told(figure, quoted, losses):
    """Whether a figure follows from two others of its paragraph, or is the difference of two losses of a column."""
    return any(is_worked(figure, a, b) for a in quoted for b in quoted) or any(
        is_difference(figure, a, b) for column in losses for a in column for b in column)


class Checker:
    """Pages by their paths below root, read once."""

    def __init__(self, root, known=()):
        self.root, self.known = root, known
        self.pages = {}

    def page(self, path):
        if path not in self.pages:
            self.pages[path] = Page(path.read_text(encoding="utf-8"))
        return self.pages[path]

    def linked(self, path, part):
        """The pages and sections that a paragraph links to."""
        for target, anchor in LINK.findall("\n".join(part.lines)):
            file = (path.parent / target).resolve() if target else path
            if file.suffix == ".md" and file.exists() and (target or anchor):
                page = self.page(file)
                yield from page.parts[page.section(page.anchors[anchor])] if anchor in page.anchors else page.parts

    def shown(self, path, k, strict):
        """What can back a figure of a paragraph: its section, what it links to and what the first one of its section does."""
        page = self.page(path)
        around = page.section_around(k)
        intro = next(part for part in page.parts[around] if part.kind == "text")
        return [*page.parts[around], *self.linked(path, page.parts[k]), *(() if strict else self.linked(path, intro))]

    def unbacked(self, path, strict=False):
        """How many figures a page has, and those that nothing backs; of a strict page tables and outputs alone count."""
        page, count, result = self.page(path), 0, []
        for k, part in enumerate(page.parts):
            figures = list(figures_of(part, strict)) if part.kind == "text" else []
            if not figures:
                continue
            count += len(figures)
            shown = [other for other in self.shown(path, k, strict) if not (strict and other.measured)]
            backed = [any(same(figure.number, number) for other in shown for number in other.printed) for figure in figures]
            if part.measured and not strict:
                continue
            quoted = [figure.number for figure, found in zip(figures, backed) if found]
            losses = [column for other in shown for column in other.losses]
            result += [figure for figure, found in zip(figures, backed)
                       if not (found or is_told(figure.number, quoted, losses) or self.is_known(path, figure))]
        return count, result

    def is_known(self, path, figure):
        for entry in self.known:
            if self.root / entry["page"] == path and figure.number.text in entry["figures"]:
                entry.setdefault("used", set()).add(figure.number.text)
                return True
        return False
