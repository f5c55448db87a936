# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pip makes a wheel of this tree that works where nothing of the tree is within reach:
wheel_test.py ROOT KOKKOS [-DNAME=VALUE...].

KOKKOS: the folder of the CMake package of one with static libraries for any processor. Exit code 77: what builds wheels
cannot be installed.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv
import zipfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from expect import expect  # noqa: E402

root, kokkos = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
definitions = [word.removeprefix("-D") for word in sys.argv[3:]]
environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CMAKE_PREFIX_PATH")}


def run(*command, **variables):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd="/",
                          env=environment | variables)
    return done.returncode, done.stdout + done.stderr


def must(*command, **variables):
    code, words = run(*command, **variables)
    expect(code == 0, *command, words[-8000:])
    return words


def make_environment(folder):
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def pinned(array):
    """Of scripts/dependencies.sh."""
    text = (root / "scripts" / "dependencies.sh").read_text()
    return re.search(rf"^{array}=\((.*)\)", text, re.M)[1].split()


def make_wheel(python, folder, kokkos, *settings):
    arguments = [f"-Ccmake.define.{setting}" for setting in [*definitions, *settings]]
    return run(python, "-m", "pip", "wheel", root, "--no-deps", "--no-build-isolation", "-w", folder,
               f"-Cbuild-dir={folder}/build", *arguments, Kokkos_DIR=str(kokkos))


def it_says_where_kokkos_comes_from(python, folder):
    code, words = make_wheel(python, folder, "", "CMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON")
    words = " ".join(words.split())
    expect(code != 0 and "CMAKE_PREFIX_PATH or Kokkos_ROOT" in words and "scripts/setup.sh" in words, words)


def it_is_for_any_processor(folder):
    commands = json.loads((folder / "build" / "compile_commands.json").read_text())
    expect(commands and not any("-march" in one["command"] for one in commands), commands)


def it_holds_what_it_should(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name in "__init__.py", "_kadam.pyi", "doctor.py", "py.typed", "torch.py":
        expect(f"kadam/{name}" in files, name, "is not in", list(files))
    for place in str(root), str(folder), os.path.expanduser("~"), str(kokkos):
        found = [name for name, content in files.items() if place.encode() in content]
        expect(place == "/" or not found, place, "is in", found)
    module, = (name for name in files if name.endswith(".so"))
    (folder / "module.so").write_bytes(files[module])
    ways = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", must("readelf", "-d", folder / "module.so"))
    expect(not any(way.startswith("$ORIGIN") for way in ":".join(ways).split(":")), ways)


def it_works_alone(wheel, folder):
    python = make_environment(folder / "alone")
    must(python, "-m", "pip", "install", "--no-index", wheel)
    version = re.search(r"project\(Kadam VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    said = json.loads(must(python, "-m", "kadam.doctor", "--json"))
    expect(said["works"] and said["version"] == version and said["folder"].startswith(str(folder)), said)
    expect(f"kadam-{version}-" in wheel.name, wheel)
    must(python, "-c", """
import array, kadam
x = array.array("f", [1, 1, 1])
optimizer = kadam.Optimizer("onebit_adam", {"x": 3}, lr=0.1, warmup_steps=1)
for _ in range(3): optimizer.step(x, array.array("f", [1, 2, 3]))
assert all(value < 0.9 for value in x), x
""")


def test(folder):
    python = make_environment(folder / "builder")
    needs = [*pinned("KADAM_PYTHON_CARRIER_NEEDS")[:1], *pinned("KADAM_PYTHON_MODULE_NEEDS")[:1]]
    code, words = run(python, "-m", "pip", "install", *needs)
    if code != 0:
        print(f"skipped: pip cannot install {' '.join(needs)}: {words.strip().splitlines()[-1]}")
        sys.exit(77)
    it_says_where_kokkos_comes_from(python, folder / "without")
    made = folder / "made"
    code, words = make_wheel(python, made, kokkos)
    expect(code == 0, words[-8000:])
    wheel, = made.glob("*.whl")
    it_is_for_any_processor(made)
    it_holds_what_it_should(wheel, folder)
    it_works_alone(wheel, folder)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


with tempfile.TemporaryDirectory() as name:
    test(pathlib.Path(name))
