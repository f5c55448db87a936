# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What becomes of a spec: a small part of what Spack's solver does, enough for one recipe over known packages."""
import types

import specs
from known_packages import BROUGHT, PACKAGES, REFUSED
from spack.package import Executable


class Refused(Exception):
    """No build satisfies the spec; `words` are the messages of the directives that forbid it."""

    def __init__(self, words):
        super().__init__(" / ".join(words))
        self.words = words


class UnknownPackage(Exception):
    pass


class UnknownVariant(Exception):
    pass


def as_value(default):
    return default if isinstance(default, bool) else frozenset([default])


class Node:
    """A package in a build: what was said of it, and where nothing was said, its defaults."""

    def __init__(self, name, version, defaults, compilers=()):
        self.name, self.version, self.defaults, self.compilers = name, version, defaults, compilers
        self.said = {}

    @property
    def variants(self):
        return {name: as_value(value) for name, value in self.defaults.items()} | self.said

    def contradicts(self, spec):
        """Takes over what a spec says; returns whether it says something else than was said before."""
        for variant, value in spec.variants.items():
            if variant not in self.defaults:
                raise UnknownVariant(f"{self.name} has no variant '{variant}'")
            if self.said.setdefault(variant, value) != value:
                return True
        return not specs.version_in(self.version, spec.version)

    def satisfies(self, spec, variants):
        return (all(variants.get(variant) == value for variant, value in spec.variants.items())
                and specs.version_in(self.version, spec.version)
                and all(any(self.is_compiled_by(own, wanted) for own in self.compilers) for wanted in spec.compilers))

    @staticmethod
    def is_compiled_by(own, wanted):
        own_name, _, own_version = own.partition("@")
        name, _, version = wanted.partition("@")
        return own_name == name and specs.version_in(own_version, version)


class Build:
    """A recipe with a spec: the nodes, and the words of those who object."""

    def __init__(self, recipe, asked, flipped=()):
        self.recipe = recipe
        self.asked = specs.parse(asked)
        versions = [directive.spec for directive in recipe.of_kind("version")]
        wanted = self.asked.version or next(version for version in versions if version[0].isdigit())
        if wanted not in versions:
            raise Refused([f"there is no version {wanted}"])
        self.nodes = {"kadam": Node("kadam", wanted, {}, self.asked.compilers or ["gcc@14"])}
        self.objections = []
        self.take_own_variants(flipped)
        while self.take_directives():
            pass
        self.check()

    def take_own_variants(self, flipped):
        """Those of the recipe, some of them only with others."""
        own = self.nodes["kadam"]
        for directive in self.recipe.of_kind("variant"):
            if self.holds(directive.when):
                default = directive.keywords["default"]
                own.defaults[directive.spec] = (not default) if directive.spec in flipped else default
            own.said |= {name: value for name, value in self.asked.variants.items() if name in own.defaults}
        for name, value in self.asked.variants.items():
            if name not in own.defaults:
                raise UnknownVariant(f"kadam has no variant '{name}', or not with what was asked for")
            if not isinstance(value, bool):
                self.check_values(name, value)

    def check_values(self, name, values):
        directive = [found for found in self.recipe.of_kind("variant") if found.spec == name][-1]
        if not values <= set(directive.keywords["values"]):
            raise UnknownVariant(f"'{name}' is not one of {directive.keywords['values']}: {set(values)}")
        if len(values) > 1 and not directive.keywords["multi"]:
            raise Refused([f"'{name}' has one value, not {len(values)}."])

    def node(self, name):
        if name not in self.nodes:
            if name not in PACKAGES:
                raise UnknownPackage(f"known_packages.py has no package '{name}'")
            version, defaults = PACKAGES[name]
            self.nodes[name] = Node(name, version, defaults)
            for said in self.asked.dependencies:
                if said.name == name:
                    self.nodes[name].version = said.version.strip(":") or version
                    self.nodes[name].contradicts(said)
        return self.nodes[name]

    def holds(self, condition):
        """Of a dependency counts what was said, of the recipe its defaults as well."""
        if not condition:
            return True
        spec = specs.parse(condition)
        own = self.nodes["kadam"]
        return own.satisfies(spec, own.variants) and all(
            said.name in self.nodes and self.nodes[said.name].satisfies(said, self.nodes[said.name].said)
            for said in spec.dependencies)

    def take_directives(self):
        """Once through all that ask for something; returns whether anything changed."""
        before = self.picture()
        for directive in self.recipe.directives:
            if directive.kind not in ("depends_on", "requires") or not self.holds(directive.when):
                continue
            spec = specs.parse(directive.spec)
            for wanted in [spec] if spec.name else spec.dependencies:
                if self.node(wanted.name).contradicts(wanted):
                    self.objections.append(directive)
        for name, brought in BROUGHT.items():
            for variant, package in brought.items():
                if name in self.nodes and self.nodes[name].said.get(variant) is True:
                    self.node(package)
        return self.picture() != before

    def picture(self):
        return {name: dict(node.said) for name, node in self.nodes.items()}

    def check(self):
        for said in self.asked.dependencies:
            if said.name not in self.nodes:
                raise Refused([f"kadam does not depend on {said.name} here"])
        for directive in self.recipe.of_kind("conflicts"):
            if self.holds(directive.when) and self.holds(directive.spec):
                self.objections.append(directive)
        own_words = [f"{name}: conflict with {refused}" for name, node in self.nodes.items()
                     for refused in REFUSED.get(name, []) if node.satisfies(specs.parse(refused), node.variants)]
        if self.objections or own_words:
            raise Refused([found.msg for found in self.objections if found.msg] + own_words)

    # ---- as the recipe sees it ------------------------------------------------------------------------------

    def package(self):
        return self.recipe(self)

    @property
    def variants(self):
        return self.nodes["kadam"].variants

    def names(self):
        return sorted(self.nodes)

    def satisfies(self, condition):
        return self.holds(condition)

    def __getitem__(self, name):
        if name not in self.nodes:
            raise KeyError(f"No spec with name {name}")
        prefix = Prefix(f"/prefix/{name}")
        return types.SimpleNamespace(prefix=prefix, hipcc=f"{prefix.bin}/hipcc",
                                     command=Executable(f"{prefix.bin}/{name}"))


class Prefix(str):
    """A folder that knows the one of its programs."""

    @property
    def bin(self):
        return f"{self}/bin"


def build(recipe, asked):
    """The build of a spec. A default that the spec does not mention gives way, as in Spack."""
    try:
        return Build(recipe, asked)
    except Refused as refused:
        said = specs.parse(asked).variants
        for directive in recipe.of_kind("variant"):
            name, default = directive.spec, directive.keywords["default"]
            if isinstance(default, bool) and default and name not in said:
                try:
                    return Build(recipe, asked, flipped=(name,))
                except Refused:
                    pass
        raise refused
