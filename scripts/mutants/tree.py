# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A copy of the sources with the faults in it, and its build."""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

import catalogue

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build-mutants"
SOURCE = FOLDER / "source"
BUILD = SOURCE / "build"  # where its setup.sh puts it
SWITCH = "tests/mutants/mutant_switch.hpp"


class BuildError(Exception):
    """The copy cannot be made or built."""


def files_of(root):
    """All files that git tracks or would add, as paths below the root."""
    done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{root} is not a checkout of git: {done.stderr.decode().strip()}")
    return sorted({name for name in done.stdout.decode().split("\0") if name and (root / name).is_file()})


def write_if_changed(path, content):
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def copy_with_faults(faults):
    """Copies the sources with the faults in them. Writes only files that differ, so that a build is incremental.
    Returns a hash of the copy."""
    digest = hashlib.sha256()
    by_file = {}
    for fault in faults:
        by_file.setdefault(fault.file, []).append(fault)
    names = files_of(ROOT)
    for name in names:
        # The faults themselves are left out: a change of one's words would configure everything again.
        if name.startswith("tests/mutants/") and name.endswith(".toml"):
            continue
        content = (ROOT / name).read_bytes()
        if name in by_file:
            content = catalogue.apply(by_file[name], content.decode()).encode()
        digest.update(f"{name} {len(content)} ".encode() + content)
        write_if_changed(SOURCE / name, content)
        shutil.copymode(ROOT / name, SOURCE / name)
    list_file = FOLDER / "files"
    if list_file.is_file():
        for name in set(list_file.read_text(encoding="utf-8").split("\n")) - set(names):
            if name:
                (SOURCE / name).unlink(missing_ok=True)
    list_file.write_text("\n".join(names), encoding="utf-8")
    return digest.hexdigest()


def quiet(command, what, log):
    """Runs a command. Its output is shown if it fails; on a terminal as it comes."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        tee = sys.stdout.isatty()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False,
                              **({} if tee else {"stdout": out, "stderr": subprocess.STDOUT}))
    if done.returncode != 0:
        words = "" if tee else "\n" + "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])
        raise BuildError(f"{what} failed{words}")


def configure(jobs):
    """Configures the copy and builds the library, as scripts/setup.sh does: it finds or builds Kokkos."""
    arguments = ["-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=8",
                 "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", f"-DCMAKE_CXX_FLAGS=-include {SOURCE / SWITCH}",
                 "-DKADAM_ENABLE_WARNINGS_AS_ERRORS=OFF", "-DKADAM_ENABLE_PRECOMPILED_HEADERS=OFF"]
    if shutil.which("ccache"):
        arguments.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    quiet([str(SOURCE / "scripts/setup.sh"), "--jobs", str(jobs), "--target", "kadam", "--", *arguments],
          "Configuring the copy with the faults, or building its library", FOLDER / "setup.log")


def build(targets, jobs):
    if targets:
        quiet(["cmake", "--build", str(BUILD), "--parallel", str(jobs), "--target", *targets],
              "Building the tests with the faults", FOLDER / "build.log")


def read_tests(folder):
    """{name: test} from ctest's list of the tests of a build."""
    done = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"ctest does not list the tests of {folder}: {done.stderr.strip()}")
    tests = {}
    for test in json.loads(done.stdout)["tests"]:
        properties = {one["name"]: one["value"] for one in test.get("properties", [])}
        tests[test["name"]] = {"command": test.get("command"), **properties}
    return tests


def targets_of(test, name):
    """Targets of the programs that a test starts. A test that is not built yet has no command: its target has its
    name."""
    if test["command"] is None:
        return {name}
    targets = {pathlib.Path(word).name for word in test["command"] if word.startswith(str(BUILD / "bin"))}
    if "python" in test.get("LABELS", []):
        targets.add("kadam_python")
    return targets
