# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The faults of tests/mutants/**/*.toml, and how they are put into a source file behind switches."""
import dataclasses
import difflib
import fnmatch
import re
import tomllib

KINDS = ("expression", "statement", "insert")
KEYS = {"name", "file", "kind", "after", "find", "replace", "why", "tests", "filter"}
LEAST_FAULTS = 80


class CatalogueError(Exception):
    """A mistake in a fault, in words for its author."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """One fault. kind: an expression or statements in place of `find`, or statements in front of it."""
    name: str
    file: str
    find: str
    replace: str
    why: str
    tests: tuple
    kind: str = "expression"
    after: str = ""
    filter: str = ""

    def switched(self, text):
        """`text` with this fault behind its switch; `text` is `find`, or `find` with other faults in it."""
        switch = f'kadam_mutant::on("{self.name}")'
        if self.kind == "expression":
            return f"({switch} ? ({self.replace}) : ({text}))"
        if self.kind == "statement":
            return f"{{ if ({switch}) {{ {self.replace} }} else {{ {text} }} }}"
        return f"if ({switch}) {{ {self.replace} }} {text}"


def read_faults(folder):
    """All faults, file by file. Raises CatalogueError for an entry that is not a fault."""
    faults = []
    for path in sorted(folder.rglob("*.toml")):
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"{path}: {error}") from error
        defaults = {key: table[key] for key in ("file", "tests", "filter") if key in table}
        faults += [fault_from(path, {**defaults, **entry}) for entry in table.get("fault", [])]
    seen = set()
    for fault in faults:
        if fault.name in seen:
            raise CatalogueError(f"two faults are named {fault.name}")
        seen.add(fault.name)
    return faults


def fault_from(path, entry):
    name = entry.get("name", "?")
    missing = KEYS - {"kind", "after", "filter"} - set(entry)
    unknown = set(entry) - KEYS
    if missing or unknown:
        raise CatalogueError(f"{path}: fault {name}: " + ", ".join(
            [f"'{key}' is missing" for key in sorted(missing)] + [f"there is no '{key}'" for key in sorted(unknown)]))
    fault = Fault(**{**entry, "tests": tuple(entry["tests"])})
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name):
        raise CatalogueError(f"{path}: fault {name}: names are words of small letters and digits, joined by '-'")
    if fault.kind not in KINDS:
        raise CatalogueError(f"{path}: fault {name}: expected a kind of {', '.join(KINDS)}, found {fault.kind}")
    return fault


def place_of(fault, text):
    """Where `find` begins in its file: the only place, or the first one behind the only `after`."""
    start = 0
    if fault.after:
        if text.count(fault.after) != 1:
            raise CatalogueError(f"{fault.name}: {fault.file} has {text.count(fault.after)} places with "
                                 f"'{fault.after}', expected one")
        start = text.index(fault.after) + len(fault.after)
    elif text.count(fault.find) > 1:
        raise CatalogueError(f"{fault.name}: {fault.file} has {text.count(fault.find)} places with '{fault.find}': "
                             "give a longer 'find', or give 'after'")
    place = text.find(fault.find, start)
    if place < 0:
        raise CatalogueError(f"{fault.name}: {fault.file} has no '{fault.find}'" +
                             (f" after '{fault.after}'" if fault.after else ""))
    return place


# How tightly operators bind; others do not matter here.
BINDS = {"?": 0, "||": 1, "&&": 2, "==": 3, "!=": 3, "<=": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}


def loosest(text):
    """Precedence of the loosest operator outside of brackets; only operators between spaces count."""
    depth, binds = 0, 7
    for match in re.finditer(r"[()\[\]{}]|(?<=\s)(\?|\|\||&&|[=!<>]=|[-+*/%])(?=\s)", text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth == 0 and match.group(1):
            binds = min(binds, BINDS[match.group(1)])
    return binds


def is_expression(text):
    """Whether a text may be put in parentheses, judged by its brackets, ends and comments."""
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    depth = 0
    for mark in re.findall(r"//|/\*|[()\[\]{};]", text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(mark, 0)
        if depth < 0 or mark in ("//", "/*") or mark == ";" and depth == 0:
            return False
    return depth == 0 and not re.search(r"(^\s*(\{|\|\||[=!<>]=|[/%=?])|(\|\||&&|[-+*/%<>=?,])\s*$)", text)


def require_whole(fault, text, place):
    """Checks that parentheses around `find` change nothing: in a + b * c they may enclose b * c, but not a + b."""
    if fault.kind == "statement":
        for statements in (fault.find, fault.replace):
            if statements.strip() and not re.search(r"[;}]\s*$", statements):
                raise CatalogueError(f"{fault.name}: '{statements}' is no whole statement: it ends without ; or }}")
    if fault.kind != "expression":
        return
    if not is_expression(fault.find):
        raise CatalogueError(f"{fault.name}: '{fault.find}' is no whole expression: it has half of a bracket, a comment, "
                             "the end of a statement, or an operator at its end")
    if re.search(r"(\w|\.|->|::)$", text[:place]) and re.match(r"\w", fault.find):
        raise CatalogueError(f"{fault.name}: '{fault.find}' begins in the middle of a name in {fault.file}")
    own = loosest(fault.find)
    before = re.search(r"\s(\|\||&&|[=!]=|[-+*/%])\s*$", text[:place])
    after = re.match(r"\s*(\?|\|\||&&|[=!]=|[-+*/%])\s", text[place + len(fault.find):])
    # a - (b + c) is something else, and a + (b + c) may be rounded in another way.
    too_tight = before and (BINDS[before.group(1)] > own or BINDS[before.group(1)] == own >= BINDS["+"])
    if too_tight or after and BINDS[after.group(1)] > own:
        raise CatalogueError(f"{fault.name}: '{fault.find}' is no whole expression where it stands in {fault.file}: an "
                             "operator beside it binds more tightly than those inside")


def apply(faults, text):
    """The text of a file with all its faults in it. Faults may lie inside each other, or share a place."""
    def order(item):
        begin, fault = item
        # Enclosing faults come first; at the same place, statements enclose expressions.
        return begin, -len(fault.find), fault.kind == "expression", fault.name

    def render(begin, end, inside):
        if not inside:
            return text[begin:end]
        first, fault = inside[0]
        last = first + len(fault.find)
        own = [one for one in inside[1:] if one[0] < last]
        for other, of_other in own:
            if other + len(of_other.find) > last:
                raise CatalogueError(f"{of_other.name} begins inside {fault.name} and ends outside")
        rest = inside[1 + len(own):]
        return text[begin:first] + fault.switched(render(first, last, own)) + render(last, end, rest)

    places = sorted(((place_of(fault, text), fault) for fault in faults), key=order)
    for place, fault in places:
        require_whole(fault, text, place)
    return render(0, len(text), places)


def chosen(faults, patterns):
    """The faults whose names match one of the patterns. Raises CatalogueError for a pattern that matches none."""
    names = [fault.name for fault in faults]
    for pattern in patterns:
        if fnmatch.filter(names, pattern):
            continue
        near = difflib.get_close_matches(pattern, names, 5, 0.4) + [name for name in names if pattern in name]
        hint = "; similar names: " + ", ".join(dict.fromkeys(near[:8])) if near else ""
        raise CatalogueError(f"there is no fault {pattern}{hint}; scripts/mutants.sh --list names them all")
    return [fault for fault in faults if any(fnmatch.fnmatch(fault.name, pattern) for pattern in patterns)]
