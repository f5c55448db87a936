# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the version stands beside CMakeLists.txt it is the same: versions_test.py FOLDER_OF_SOURCES

The recipe for Spack has a test of its own (tests/spack).
"""
import pathlib
import re
import sys

from expect import expect

ROOT = pathlib.Path(sys.argv[1]).resolve()
PROJECT = re.search(r"^project\(Kadam VERSION ([\d.]+) ", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
MINOR = PROJECT.rpartition(".")[0]


def found(name, pattern):
    """What a file has for the group of a pattern, everywhere."""
    all_of_them = re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)
    expect(all_of_them, name, "has nothing like", pattern)
    return all_of_them


def the_change_log_ends_with_the_version():
    """Its newest section is the version's, or the changes since, above the version's."""
    sections = [heading for heading in found("CHANGELOG.md", r"^## (.*)$") if heading != "Unreleased"]
    version, _, date = sections[0].partition(", ")
    expect(version == PROJECT, "CHANGELOG.md has", version, "where CMakeLists.txt has", PROJECT)
    cited = found("CITATION.cff", r"^date-released: (.*)$")[0]
    expect(date == cited, "CHANGELOG.md has the date", date, "and CITATION.cff", cited)


def users_ask_for_the_version():
    for path in sorted([*ROOT.glob("examples/*/CMakeLists.txt"), ROOT / "tests/install/CMakeLists.txt",
                        *ROOT.glob("docs/*.md")]):
        for version in re.findall(r"find_package\(Kadam ([\d.]+)|depends_on\(\"kadam@([\d.]+)", path.read_text()):
            expect(MINOR in version, path, "asks for Kadam", *version, "which is not", MINOR)


def others_name_the_version():
    for name, pattern, version in [
            ("CITATION.cff", r"^version: (.*)$", PROJECT),
            ("docs/compatibility.md", r"Kadam's, now ([\d.]+) ", PROJECT),
            ("docs/compatibility.md", r"soname major.minor, now ([\d.]+) ", MINOR),
            ("docs/insitu.md", r"^Kadam ([\d.]+): ", PROJECT),
            ("src/kadam/c_api/kadam.h", r'as in "([\d.]+)"', PROJECT),
            ("src/kadam/fortran/kadam_library.f90", r"as in '([\d.]+)'", PROJECT)]:
        expect(set(found(name, pattern)) == {version}, name, "has", found(name, pattern), "where CMakeLists.txt has", PROJECT)


the_change_log_ends_with_the_version()
users_ask_for_the_version()
others_name_the_version()
