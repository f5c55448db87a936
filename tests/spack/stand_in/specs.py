# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Specs as Spack writes them: name@version+variant~variant key=value %compiler ^dependency."""
import dataclasses
import re

# A value may hold + and ~, as in Spack: cuda_arch=90+nccl asks for an architecture of that name.
TOKEN = re.compile(r"\s*(?:(?P<mark>[@%^+~])\s*|(?P<key>\w+)=(?P<value>[\w\-+*.,:~/\\]+)|(?P<name>[\w][\w\-]*))")
VERSION = re.compile(r"[\w.:,\-]+")


class BadSpec(Exception):
    pass


@dataclasses.dataclass
class Spec:
    """One node and the nodes after its ^. A variant is True, False or a set of values; absent: not said."""
    name: str = ""
    version: str = ""
    variants: dict = dataclasses.field(default_factory=dict)
    compilers: list = dataclasses.field(default_factory=list)
    dependencies: list = dataclasses.field(default_factory=list)

    def say(self, variant, value):
        if self.variants.get(variant, value) != value:
            raise BadSpec(f"{self.name or 'the spec'} has '{variant}' twice")
        self.variants[variant] = value


def expect(match, text, what):
    if not match:
        raise BadSpec(f"'{text}': expected {what}")
    return match


def parse(text):
    root = node = Spec()
    position = 0
    while text[position:].strip():
        token = expect(TOKEN.match(text, position), text, f"a spec at '{text[position:]}'")
        position = token.end()
        if token["name"]:
            if node.name or node.variants or node.version:
                raise BadSpec(f"'{text}': a second name '{token['name']}'")
            node.name = token["name"]
        elif token["key"]:
            node.say(token["key"], frozenset(token["value"].split(",")))
        elif token["mark"] == "^":
            node = Spec()
            root.dependencies.append(node)
        else:
            position = parse_marked(text, position, token["mark"], node)
    for dependency in root.dependencies:
        expect(dependency.name, text, "a name after ^")
    return root


def parse_marked(text, position, mark, node):
    """What stands after @, %, + or ~; returns where it ends."""
    if mark == "@":
        word = expect(VERSION.match(text, position), text, "a version after @")
        node.version = word[0]
    elif mark == "%":
        word = expect(re.compile(r"[\w\-]+(@[\w.:]+)?").match(text, position), text, "a compiler after %")
        node.compilers.append(word[0])
    else:
        word = expect(re.compile(r"\w+").match(text, position), text, f"a variant after {mark}")
        node.say(word[0], mark == "+")
    return word.end()


def numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version))


def version_in(version, wanted):
    """Whether 4.7.01 is in 4.5:5, :4 or 4.7. Names of branches are newer than all numbers."""
    if not wanted:
        return True
    if not version:
        return False
    if not version[0].isdigit():
        return version == wanted or wanted.endswith(":")
    low, colon, high = wanted.partition(":")
    if not colon:
        high = low
    own = numbers(version)
    above = not low or own >= numbers(low)
    return above and (not high or own[:len(numbers(high))] <= numbers(high))
