# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As much of Spack's packaging API as a recipe of a CMake project uses: directives are written down, not solved."""
import contextlib
import dataclasses
import os

__all__ = ["Executable", "PackageBase", "cache_extra_test_sources", "conflicts", "depends_on", "extends",
           "get_cmake_prefix_path", "join_path", "license", "requires", "run_after", "variant", "version", "when",
           "working_dir"]

join_path = os.path.join


@dataclasses.dataclass
class Directive:
    kind: str
    spec: str
    when: str = ""
    msg: str = ""
    keywords: dict = dataclasses.field(default_factory=dict)


_pending = []
_contexts = []


def _write_down(kind, spec, condition="", msg="", **keywords):
    _pending.append(Directive(kind, spec, " ".join([*_contexts, condition or ""]).strip(), msg or "", keywords))


@contextlib.contextmanager
def when(condition):
    _contexts.append(condition)
    yield
    _contexts.pop()


def version(name, **source):
    _write_down("version", name, **source)


def variant(name, default=False, description="", values=None, multi=None, sticky=False, when=None):
    _write_down("variant", name, when, default=default, description=description, values=values, multi=multi,
                sticky=sticky)


def depends_on(spec, when=None, type=("build", "link")):
    _write_down("depends_on", spec, when, type=(type,) if isinstance(type, str) else type)


def extends(spec, when=None, type=("build", "run")):
    depends_on(spec, when, type)


def conflicts(spec, when=None, msg=None):
    _write_down("conflicts", spec, when, msg)


def requires(*specs, when=None, msg=None):
    for spec in specs:
        _write_down("requires", spec, when, msg)


def license(name):
    _write_down("license", name)


def run_after(phase):
    def mark(method):
        method.runs_after = phase
        return method
    return mark


class PackageBase:
    """A recipe knows its directives, those of its bases first; an object also a spec."""
    directives = ()

    def __init_subclass__(cls):
        inherited = []
        for base in cls.__bases__:
            inherited += [directive for directive in base.directives if directive not in inherited]
        cls.directives = tuple(inherited) + tuple(_pending)
        _pending.clear()

    def __init__(self, spec, prefix="/prefix/kadam"):
        self.spec = spec
        self.prefix = prefix

    @classmethod
    def of_kind(cls, kind):
        return [directive for directive in cls.directives if directive.kind == kind]


# ---- what a recipe calls while it builds and tests; it tells `calls` ------------------------------------------

calls = []


class Executable:
    def __init__(self, path):
        self.path = path

    def __call__(self, *words):
        calls.append((self.path, *words))


@contextlib.contextmanager
def working_dir(folder, create=False):
    calls.append(("cd", folder, create))
    yield


def cache_extra_test_sources(package, sources):
    calls.append(("cache", sources))


def get_cmake_prefix_path(package):
    return [package.spec[name].prefix for name in package.spec.names() if name != "kadam"]
