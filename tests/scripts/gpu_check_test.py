# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu_check.sh where there is no GPU, and with stand-ins for one: gpu_check_test.py FOLDER_OF_SCRIPTS"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])


class Machine:
    """Tools that say what they say on a machine with a GPU, or without one; a cache of its own."""

    def __init__(self, folder, tools):
        self.folder = pathlib.Path(folder)
        for name in ("nvidia-smi", "rocminfo", "rocm-smi"):
            tool = self.folder / name
            lines = "\n".join(tools.get(name, ()))
            says = f"cat <<'END'\n{lines}\nEND\n" if lines else "echo no GPU >&2\nexit 9\n"
            tool.write_text(f"#!/bin/sh\n{says}")
            tool.chmod(0o755)

    def check(self, *arguments):
        environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}",
                                    "XDG_CACHE_HOME": str(self.folder / "cache")}
        environment.pop("CXX", None)
        return subprocess.run([SCRIPTS / "gpu_check.sh", *arguments], capture_output=True, text=True, check=False,
                              env=environment, timeout=50)


def sources_in(folder):
    for name, variable in (("kokkos", "Kokkos"), ("kokkos-kernels", "KokkosKernels")):
        (folder / name).mkdir(parents=True)
        (folder / name / "CMakeLists.txt").write_text(
            "".join(f"set({variable}_VERSION_{part} {number})\n"
                    for part, number in (("MAJOR", 4), ("MINOR", 7), ("PATCH", 0))))
    return folder


def tells_that_there_is_no_gpu(folder):
    machine = Machine(folder, {})
    for arguments in ((), ("--dry-run",), ("--write",)):
        done = machine.check(*arguments)
        expect(done.returncode == 77 and done.stdout.count("\n") == 1 and "No GPU" in done.stdout, arguments, done)
    expect(not (machine.folder / "cache").exists(), "something was done without a GPU")
    # A machine whose tools list a processor, not a GPU.
    done = Machine(folder, {"rocminfo": ["Name: gfx000", "Name: EPYC"]}).check()
    expect(done.returncode == 77, done)


def says_what_it_would_run(folder):
    sources = sources_in(pathlib.Path(folder) / "sources")
    nvidia = Machine(folder, {"nvidia-smi": ["NVIDIA H200, 9.0", "NVIDIA H200, 9.0"]})
    done = nvidia.check("--dry-run", "--sources", str(sources), "--elements", "4096", "--jobs", "3",
                        "--out", str(pathlib.Path(folder) / "figures"))
    commands = done.stdout.splitlines()
    expect(done.returncode == 0, done)
    programs = [pathlib.Path(command.split()[0]).name for command in commands]
    expect(programs == ["cmake"] * 8 + ["ctest", "kadam-bench", "python3", "python3"], done.stdout)
    for wanted in (f"-S {sources}/kokkos ", "-DKokkos_ARCH_HOPPER90=ON", "-DCMAKE_CUDA_ARCHITECTURES=90",
                   f"-DCMAKE_PREFIX_PATH={sources}/prefix", "--parallel 3", "--target all kadam_tests",
                   "--json --elements 4096", "--device cuda", "--gpu NVIDIA\\ H200"):
        expect(wanted in done.stdout, wanted, "is missing in", done.stdout)
    expect(not (pathlib.Path(folder) / "figures").exists(), "a dry run left figures")

    amd = Machine(folder, {"rocminfo": ["Name: AMD EPYC", "Name: gfx90a", "Name: gfx90a"]})
    done = amd.check("--dry-run", "--sources", str(sources))
    expect("-DKokkos_ARCH_AMD_GFX90A=ON" in done.stdout and "CUDA" not in done.stdout, done)


def refuses_in_words(folder):
    machine = Machine(folder, {"nvidia-smi": ["NVIDIA Something, 9.0"]})
    old = Machine(tempfile.mkdtemp(dir=folder), {"nvidia-smi": ["Tesla K80, 3.7"]})
    for done, word in ((machine.check("--dry-run"), "--sources"), (machine.check("--elements", "few"), "a number"),
                       (machine.check("--speed"), "--speed"), (old.check("--dry-run"), "3.7"),
                       (machine.check("--collect", f"{folder}/collected"), "setup.sh")):
        expect(done.returncode == 1 and done.stderr.count("\n") == 1 and word in done.stderr, word, done)


def makes_a_table(folder):
    figures = pathlib.Path(folder)
    kernels = [{"kernel": kernel, "milliseconds": milliseconds, "spread": 0.01, "elements": 1000,
                "bytes_per_element": moved}
               for kernel, milliseconds, moved in (("copy", 2.0, 8.0), ("adam_update", 14.0, 28.0),
                                                   ("adam step", 1.0, 0.0))]
    (figures / "kernels.jsonl").write_text("\n".join(map(json.dumps, kernels)))
    (figures / "peers.jsonl").write_text(json.dumps({"kernel": "torch Adam, fused", "milliseconds": 21.0}))
    (figures / "tests.xml").write_text(
        '<testsuite tests="5" failures="1" disabled="0" skipped="1">'
        '<testcase name="a" status="run"/><testcase name="b" status="fail"/></testsuite>')
    done = subprocess.run([sys.executable, SCRIPTS / "gpu_check" / "main.py", "--gpu", "Some GPU", "--elements", "1024",
                           "--figures", figures], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done)
    for wanted in ("Some GPU, d = 2^10", "3 passed, 1 failed (b), 1 skipped",
                   "| adam_update | 14 | 1.0 % | 28.00 | 0 | 0.50 |", "| adam step | 1 | 1.0 % | - | - | - |",
                   "| adam_update | 14 | torch Adam, fused | 21 | 1.5 |"):
        expect(wanted in " ".join(done.stdout.split()), wanted, "is missing in", done.stdout)


for test in (tells_that_there_is_no_gpu, says_what_it_would_run, refuses_in_words, makes_a_table):
    with tempfile.TemporaryDirectory() as name:
        test(name)
