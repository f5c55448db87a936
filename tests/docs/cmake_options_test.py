# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of docs/install.md has all options of CMake, with their defaults: cmake_options_test.py ROOT"""
import re
import sys

from pages import end, root_of

root = root_of(sys.argv[1])
options = (root / "cmake" / "KadamOptions.cmake").read_text()
meant = {"ON": "`ON`", "OFF": "`OFF`", '""': "empty",
         "${PROJECT_IS_TOP_LEVEL}": "`ON`; `OFF` as a part of another project"}
defaults = dict(re.findall(r'^option\((\w+) "[^"]*" (\S+)\)', options, re.M))
defaults |= dict(re.findall(r'^set\((KADAM_\w+) (\S+) CACHE', options, re.M))
expected = {name: meant[default] for name, default in defaults.items()}
page = (root / "docs" / "install.md").read_text()
shown = dict(re.findall(r"^\| `(KADAM_\w+)` \| ([^|]+?) \|", page, re.M))
mistakes = [f"docs/install.md: {name} is {shown.get(name)}, expected {default}" for name, default in expected.items()
            if shown.get(name) != default]
mistakes += [f"docs/install.md: there is no option {name}" for name in shown if name not in expected]
versions = re.search(r"KADAM_KOKKOS_VERSIONS (\S+)\.\.\.<(\d+)", (root / "cmake" / "KadamKokkos.cmake").read_text())
if f"{versions[1]} to {int(versions[2]) - 1}.x" not in page:
    mistakes.append(f"docs/install.md does not say that Kokkos is {versions[1]} to below {versions[2]}")
needed = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (root / "CMakeLists.txt").read_text())[1]
if f"| CMake | {needed} or later |" not in page:
    mistakes.append(f"docs/install.md does not say that CMake is {needed} or later")
end(mistakes, len(expected))
