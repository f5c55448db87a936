# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/fortran.md shows the calls that the modules have, arguments in their order: fortran_test.py ROOT"""
import re
import sys

from pages import blocks, end, root_of

root = root_of(sys.argv[1])
OBJECTS = {"kadam_setup": "setup", "kadam_optimizer": "optimizer"}
PROCEDURE = re.compile(r"^  (?:type\(c_ptr\) |logical )?(subroutine|function) (\w+)\(([^)]*)\)(.*?)^  end \1", re.M | re.S)


def words_of(text):
    return [word.strip() for word in text.split(",") if word.strip()]


def arguments_of(listed, body):
    """As a page writes them, without the object."""
    optional = {word for names in re.findall(r"\boptional :: (.*)", body) for word in words_of(re.sub(r"\(.*?\)", "", names))}
    text = ""
    for name in words_of(listed):
        if name == "this":
            continue
        text += f" [, {name}]" if name in optional else f"{', ' if text else ''}{name}"
    return f"({text})"


def procedures(text):
    """{name: (whether it is a subroutine, arguments)}"""
    return {name: (kind == "subroutine", arguments_of(listed, body)) for kind, name, listed, body in PROCEDURE.findall(text)}


def bindings(text):
    """(type, name, procedure) of all that are public."""
    for kind, body in re.findall(r"^  type :: (\w+)\n(.*?)^  end type", text, re.M | re.S):
        for name, procedure in re.findall(r"^    procedure :: (\w+) => (\w+)", body, re.M):
            yield kind, name, procedure
        for name, several in re.findall(r"^    generic :: (\w+) => (.*)", body, re.M):
            yield from ((kind, name, procedure) for procedure in words_of(several))


def call(name, is_subroutine, arguments, result):
    return f"call {name}{arguments}" if is_subroutine else f"{result} = {name}{arguments}"


calls = set()
for file in ("kadam_setups", "kadam_optimizers"):
    text = (root / "src" / "kadam" / "fortran" / f"{file}.f90").read_text().replace("&\n", "")
    known = procedures(text)
    for kind, name, procedure in bindings(text):
        result = {"c_handle": "handle", "has_newcomers": "asked"}.get(name, "text")
        calls.add(call(f"{OBJECTS[kind]}%{name}", *known[procedure], result))
text = (root / "src" / "kadam" / "fortran" / "kadam_library.f90").read_text()
calls |= {call(name, *of, "text") for name, of in procedures(text).items()}
# Values of several kinds; the page names the first.
calls = {line.replace("%set(option, values)", "%set(option, value)") for line in calls}
said = {line for _, code in blocks(root / "docs" / "fortran.md") for line in code.splitlines()}
mistakes = [f"docs/fortran.md lacks: {line}" for line in sorted(calls - said)]
mistakes += [f"docs/fortran.md has what no module has: {line}" for line in sorted(said - calls)]
end(mistakes, len(calls))
