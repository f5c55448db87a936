# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What setup.sh and test.sh tell CMake, and which packages they ask for: setup_test.py FOLDER_OF_SCRIPTS

A copy of the scripts runs with stand-ins for CMake, ctest and pip that write down how they are called."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])
# What the scripts need of any system; apt-get, dpkg-query, c++ and mpirun are not among it.
TOOLS = ("awk", "bash", "cat", "cp", "cut", "dirname", "env", "find", "flock", "grep", "head", "mkdir", "mktemp", "mv",
         "nproc", "paste", "printf", "realpath", "rm", "sed", "sha256sum", "sort", "tail", "tar", "touch", "tr", "uname", "wc")
CMAKE = r"""#!/bin/bash
case "$*" in
  *probe*) echo "-- kadam-probe Kokkos $PREFIX/kokkos"; echo "-- kadam-probe KokkosKernels $PREFIX/kernels" ;;
  *--preset*) printf '%s\n' "$*" >"$PREFIX/configured" ;;
  *CMAKE_INSTALL_PREFIX*) printf '%s\n' "$*" >>"$PREFIX/dependencies" ;;
  --install*) mkdir -p "$DESTDIR$(sed -n 's/.*-DCMAKE_INSTALL_PREFIX=\([^ ]*\) .*/\1/p' "$PREFIX/dependencies" | tail -n 1)" ;;
esac
"""


class Checkout:
    """The scripts in a folder of their own, on a system that has TOOLS and what is added."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        shutil.copytree(SCRIPTS, self.folder / "checkout" / "scripts")
        shutil.copytree(SCRIPTS.parent / "cmake", self.folder / "checkout" / "cmake")
        shutil.copy(SCRIPTS.parent / "CMakePresets.json", self.folder / "checkout")
        for tool in TOOLS:
            (self.tools / tool).symlink_to(shutil.which(tool))
        self.add("cmake", CMAKE)
        # Everything that is asked of it is there: a Python with all modules, a pip that has installed all.
        self.add("python3", "#!/bin/sh\nexit 0\n")
        pip = self.folder / "cache" / "kadam" / "python" / "bin" / "pip"
        pip.parent.mkdir(parents=True)
        pip.write_text("#!/bin/sh\n")
        pip.chmod(0o755)

    def add(self, name, text):
        tool = self.tools / name
        tool.write_text(text)
        tool.chmod(0o755)

    def bring_all(self):
        """What modules would bring: programs, and a compiler that finds every header and library."""
        for tool in ("c++", "ninja", "gfortran", "mpirun", "mpicxx", "ip"):
            self.add(tool, "#!/bin/sh\ncat >/dev/null\n")
        include = self.folder / "include"
        include.mkdir()
        (include / "Python.h").touch()
        self.add("python3", f"#!/bin/sh\ncase \"$*\" in *sysconfig*) echo {include} ;; esac\n")

    def run(self, script, *arguments, **variables):
        environment = {"PATH": str(self.tools), "HOME": str(self.folder), "PREFIX": str(self.folder),
                       "XDG_CACHE_HOME": str(self.folder / "cache")} | variables
        return subprocess.run([self.folder / "checkout" / "scripts" / script, *arguments], capture_output=True, text=True,
                              check=False, env=environment, timeout=50, stdin=subprocess.DEVNULL)

    def configured(self, script, *arguments, **variables):
        """The line that CMake was called with."""
        place = self.folder / "configured"
        place.unlink(missing_ok=True)
        done = self.run(script, *arguments, **variables)
        expect(place.exists(), script, arguments, done)
        return place.read_text()


def arguments_hold_until_others_are_given(checkout):
    checkout.bring_all()  # test.sh and quickstart.sh ask for packages as well
    for name in ("setup.sh", "test.sh"):
        line = checkout.configured(name, *(["--no-install"] if name == "setup.sh" else []), "--", "-DFIRST=1", "-DSECOND:STRING=a b")
        expect("-DFIRST=1 -DSECOND:STRING=a b" in line, line)
        for script, arguments in (("setup.sh", ("--no-install",)), ("test.sh", ("-R", "none")),
                                  ("quickstart.sh", ("--no-install",))):
            line = checkout.configured(script, *arguments)
            expect("-DFIRST=1 -DSECOND:STRING=a b" in line, script, line)
    line = checkout.configured("test.sh", "--", "-DSECOND=2")
    expect("-DFIRST=1" in line and "-DSECOND=2" in line and "a b" not in line, line)
    expect("-DFIRST" not in checkout.configured("setup.sh", "--no-install", "--preset", "no-mpi"), "of another folder")
    done = checkout.run("setup.sh", "--no-install")
    expect("From earlier calls: -DFIRST=1 -DSECOND=2" in done.stdout, done)
    line = checkout.configured("setup.sh", "--no-install", "--")
    expect("-DFIRST" not in line and "--fresh" in line, "a bare -- forgets, and lets CMake forget", line)
    line = checkout.configured("setup.sh", "--no-install")
    expect("-DFIRST" not in line and "--fresh" not in line, "and they stay forgotten", line)


def a_compiler_of_the_environment_is_one_that_was_said(checkout):
    line = checkout.configured("setup.sh", "--no-install", CXX="g++-12", CXXFLAGS="-march=x86-64-v3")
    expect("-DCMAKE_CXX_COMPILER=g++-12" in line and "-DCMAKE_CXX_FLAGS=-march=x86-64-v3" in line, line)
    line = checkout.configured("setup.sh", "--no-install")
    expect("-DCMAKE_CXX_COMPILER=g++-12" in line and "-DCMAKE_CXX_FLAGS=-march=x86-64-v3" in line, line)
    checkout.run("setup.sh", "--no-install", "--")


def write_sources(checkout):
    sources = checkout.folder / "sources"
    for name, variable in (("kokkos", "Kokkos"), ("kokkos-kernels", "KokkosKernels")):
        (sources / name).mkdir(parents=True)
        (sources / name / "CMakeLists.txt").write_text(
            "".join(f"set({variable}_VERSION_{part} 4)\n" for part in ("MAJOR", "MINOR", "PATCH")))
    return sources


def an_architecture_has_a_kokkos_of_its_own(checkout):
    """Not the one that CMake would find, which has been built for another."""
    sources = write_sources(checkout)
    checkout.add("nvcc", "#!/bin/sh\n")
    checkout.add("c++", "#!/bin/sh\n")
    for architecture, words in (("80", ["Kokkos_ARCH_AMPERE80=ON", "CMAKE_CUDA_ARCHITECTURES=80"]),
                                ("gfx942", ["Kokkos_ARCH_AMD_GFX942=ON", "Kokkos_ENABLE_HIP=ON"])):
        backend = "hip" if architecture.startswith("gfx") else "cuda"
        line = checkout.configured("setup.sh", "--no-install", "--backend", backend, "--architecture", architecture,
                                   "--kokkos-source", str(sources / "kokkos"),
                                   "--kokkos-kernels-source", str(sources / "kokkos-kernels"), CXX="c++")
        expect(f"-DKokkos_DIR={checkout.folder}/cache/kadam/installed/kokkos-4.4.4-{backend}" in line, line)
        dependencies = (checkout.folder / "dependencies").read_text()
        for word in words:
            expect(word in dependencies, word, "is missing in", dependencies)


def another_machine_has_a_kokkos_of_its_own(checkout):
    """Which does not use what this processor can do; and nothing is built that nothing asks for."""
    sources = write_sources(checkout)
    checkout.add("aarch64-linux-gnu-g++", "#!/bin/sh\n")
    arm = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
           "-DCMAKE_CXX_FLAGS=-march=armv8.2-a")
    alone = ("-DKADAM_ENABLE_DRIVERS=OFF", "-DKADAM_ENABLE_WORKLOADS=OFF", "-DKADAM_ENABLE_KOKKOS_KERNELS=OFF")
    written = checkout.folder / "dependencies"
    for arguments, number in ((alone, 1), (alone[1:], 2), (alone[::2], 2), (alone[:2], 2)):
        written.unlink(missing_ok=True)
        shutil.rmtree(checkout.folder / "cache" / "kadam" / "installed", ignore_errors=True)
        checkout.configured("setup.sh", "--no-install", "--preset", "no-mpi", "--")
        line = checkout.configured("setup.sh", "--no-install", "--preset", "no-mpi",
                                   "--kokkos-source", str(sources / "kokkos"),
                                   *(("--kokkos-kernels-source", str(sources / "kokkos-kernels")) if number == 2 else ()),
                                   "--", *arm, *arguments)
        for word in arm:
            expect(word in line, word, line)
        dependencies = written.read_text().splitlines()
        expect(len(dependencies) == number, arguments, dependencies)
        for of_one in dependencies:
            for word in arm[:3]:
                expect(word in of_one, word, of_one)
            expect("Kokkos_ARCH_NATIVE" not in of_one, of_one)


def packages_of_another_machine_are_asked_for(checkout):
    """dpkg is told of their architecture first, once; and of none that it knows."""
    for known, told in (("", ["arm64"]), ("arm64", [])):
        checkout.add("dpkg", f"""#!/bin/sh
case "$1" in
  --print-architecture) echo amd64 ;;
  --print-foreign-architectures) echo {known} ;;
esac
""")
        script = ('source "$1/internal/common.sh"; source "$1/internal/packages.sh"; mapfile -t rows <<<"$KADAM_PACKAGES_ARM"; '
                  'foreign_architectures "${rows[@]}"')
        done = subprocess.run(["bash", "-c", "set -euo pipefail; " + script, "-", checkout.folder / "checkout" / "scripts"],
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env={"PATH": str(checkout.tools), "HOME": str(checkout.folder)})
        expect(done.returncode == 0 and done.stdout.split() == told, known, done)


def users_build_without_warnings_as_errors(checkout):
    presets = (checkout.folder / "checkout" / "CMakePresets.json").read_text()
    expect(presets.count("KADAM_ENABLE_WARNINGS_AS_ERRORS") == 1, "in one preset alone")
    developer = presets[presets.index('"name": "developer"'):presets.index('"name": "debug"')]
    expect("KADAM_ENABLE_WARNINGS_AS_ERRORS" in developer, developer)


def an_apu_is_told_from_a_gpu(checkout):
    """Debian's compiler makes code of another name for it, and is told what Kokkos then does not know."""
    flag = "-DKOKKOS_ARCH_AMD_GFX942_APU"
    line = checkout.configured("setup.sh", "--no-install", "--preset", "hip-apu")
    expect("--preset hip-apu" in line and "build-hip-apu" in line and flag in line, line)
    expect(flag not in checkout.configured("setup.sh", "--no-install", "--preset", "hip"), "of another folder")
    line = checkout.configured("setup.sh", "--no-install", "--preset", "hip-apu", CXX="hipcc")
    expect("-DCMAKE_CXX_COMPILER=hipcc" in line and flag not in line, line)


def a_wrong_word_is_told(checkout):
    for arguments, words in ((("--preset", "relaese"), "There is no preset relaese"), (("--jobs",), "--jobs needs a value"),
                             (("--jobs", "many"), "--jobs needs a number of 1 or more, not many."),
                             (("--wrong",), "Unknown option --wrong"),
                             (("--architecture", "80"), "with --backend cuda or hip"),
                             (("--backend", "cuda", "--architecture", "37"), "the architecture 37")):
        done = checkout.run("setup.sh", "--no-install", *arguments)
        expect(done.returncode == 1 and words in done.stderr, done)
    expect(not (checkout.folder / "checkout" / "build-relaese").exists(), "nothing is left of it")


def without_apt_the_names_of_packages_are_said(checkout):
    """Nothing is there but CMake: each system gets the line to type, in the names that it has."""
    systems = {"fedora": ("ID=fedora", ["dnf install ", " gcc-c++ ", " openmpi-devel ", " json-devel "], ["apt-get"]),
               "rocky": ('ID="rocky"\nID_LIKE="rhel centos fedora"', ["dnf install ", " fmt-devel "], ["zypper"]),
               "suse": ("ID=opensuse-tumbleweed\nID_LIKE=\"opensuse suse\"", ["zypper install ", " nlohmann_json-devel "],
                        ["dnf"]),
               "ubuntu": ("ID=ubuntu\nID_LIKE=debian", ["apt-get install ", " libopenmpi-dev "], ["dnf"]),
               "arch": ("ID=arch", ["Debian, Ubuntu: apt-get install", "Fedora, RHEL: dnf install",
                                    "openSUSE: zypper install"], [])}
    for name, (text, said, not_said) in systems.items():
        release = checkout.folder / "os-release"
        release.write_text(text + "\n")
        done = checkout.run("setup.sh", KADAM_OS_RELEASE=str(release))
        expect(done.returncode == 1 and "cmake" not in done.stdout, name, done)
        for words in said:
            expect(words in done.stdout + " ", name, words, done)
        for words in not_said:
            expect(words not in done.stdout, name, words, done)
        expect("Install them, or load modules that provide them, and call the script again." in done.stderr, done)


def without_apt_it_goes_on_once_all_is_there(checkout):
    checkout.bring_all()
    release = checkout.folder / "os-release"
    release.write_text("ID=fedora\n")
    done = checkout.run("setup.sh", KADAM_OS_RELEASE=str(release))
    expect(done.returncode == 0 and "Ready: " in done.stdout, done)
    # The data of the examples are packages of Debian: it says so, and goes on.
    expect("bible-kjv" in done.stdout and "docs/install.md says how to do without them" in done.stdout, done)


def main():
    for check in (arguments_hold_until_others_are_given, a_compiler_of_the_environment_is_one_that_was_said,
                  an_architecture_has_a_kokkos_of_its_own, another_machine_has_a_kokkos_of_its_own,
                  packages_of_another_machine_are_asked_for, users_build_without_warnings_as_errors,
                  an_apu_is_told_from_a_gpu, a_wrong_word_is_told,
                  without_apt_the_names_of_packages_are_said, without_apt_it_goes_on_once_all_is_there):
        with tempfile.TemporaryDirectory() as folder:
            checkout = Checkout(folder)
            check(checkout)


main()
