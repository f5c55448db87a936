# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m kadam.doctor finds what is right and what is not: doctor_test.py LAUNCHER..."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from expect import expect

launcher = sys.argv[1:]


def start(ranks=0, *options, first_path=None, **variables):
    """ranks = 0: without the launcher. first_path: a folder before all others in which Python looks for modules."""
    environment = os.environ | variables
    if first_path:
        environment["PYTHONPATH"] = f"{first_path}:{environment['PYTHONPATH']}"
    command = [*launcher, str(ranks)] if ranks else []
    return subprocess.run([*command, sys.executable, "-m", "kadam.doctor", *options], capture_output=True, text=True,
                          check=False, timeout=50, env=environment)


def told(done):
    """The lines that have a name, by it."""
    return {line[:32].strip(): line[32:] for line in done.stdout.splitlines() if len(line) > 32}


def all_is_well():
    for ranks, words in (0, "There is one rank"), (2, "All is well."):
        done = start(ranks)
        lines = told(done)
        expect(done.returncode == 0 and not done.stderr and words in done.stdout, done)
        expect(lines["ranks"] == str(max(1, ranks)) and lines["threads of a rank"] == "1", done.stdout)
        expect(lines["mpi4py"].endswith(", the same MPI library"), done.stdout)
        expect(lines["self-test"].startswith("passed: parameters bitwise equal"), done.stdout)
    expect("OMPI_COMM_WORLD_SIZE=2" in done.stdout or "PMI_SIZE=2" in done.stdout, done.stdout)


def json_says_the_same():
    done = start(2, "--json", OMP_NUM_THREADS="2")
    said = json.loads(done.stdout)
    import kadam
    expect(said["version"] == kadam.__version__ and said["execution_space"] == kadam.execution_space(), said)
    expect(said["works"] and said["self_test"]["equal_on_all_ranks"] and said["threads"] == [2, 2], said)


def others_launchers_are_told():
    done = start(WORLD_SIZE="4")
    expect(done.returncode == 1 and "the launcher started 4 tasks (WORLD_SIZE)" in told(done)["self-test"], done)
    expect("There is one rank" not in done.stdout, done.stdout)


def faults_of_mpi4py_are_told(folder):
    package = folder / "mpi4py"
    package.mkdir()
    (package / "__init__.py").touch()
    module = package / "MPI.py"
    for content, code, words in (
            ("raise ImportError('libmpi.so.12 is not there')", 1, "FAILED: libmpi.so.12 is not there"),
            ("raise RuntimeError('cannot load MPI library')", 1, "FAILED: cannot load MPI library"),
            ("Is_initialized = lambda: True\nGet_library_version = lambda: 'Other MPI 1.0, of 2026'\nCOMM_WORLD = None",
             1, "mpi4py uses Other MPI 1.0, but Kadam uses")):
        module.write_text(content)
        done = start(first_path=folder)
        expect(done.returncode == code and words in done.stdout and "All is well" not in done.stdout, done)
        # The step itself needs no mpi4py.
        expect(told(done)["self-test"].startswith("passed"), done.stdout)


def a_wrong_step_is_told(folder):
    (folder / "sitecustomize.py").write_text("""
import kadam._kadam as _kadam
class Wrong(_kadam.Optimizer):
    def step(self, x, gradient):
        super().step(x, gradient)
        x[5] += self.rank
_kadam.Optimizer = Wrong
""")
    done = start(2, first_path=folder)
    expect(done.returncode != 0 and told(done)["self-test"].startswith("FAILED: parameters DIFFER"), done)


all_is_well()
json_says_the_same()
others_launchers_are_told()
with tempfile.TemporaryDirectory() as name:
    faults_of_mpi4py_are_told(pathlib.Path(name))
with tempfile.TemporaryDirectory() as name:
    a_wrong_step_is_told(pathlib.Path(name))
