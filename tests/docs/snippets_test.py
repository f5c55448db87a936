# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code on pages is a part of files that tests compile and run: snippets_test.py ROOT"""
import sys

from pages import blocks, end, pages, root_of

root = root_of(sys.argv[1])
# Where the code of a language comes from: all of this is compiled, and run by a test.
SOURCES = {
    "cpp": ["examples/**/*.cpp", "tests/docs/*.cpp", "drivers/**/*.cpp"],
    "c": ["examples/**/*.c", "tests/docs/*.c"],
    "fortran": ["examples/**/*.f90", "tests/docs/*.f90"],
    "python": ["examples/**/*.py", "tests/docs/*.py", "tests/python/*.py"],
    "cmake": [],
    "toml": ["tests/mutants/**/*.toml"],
    "yaml": [],
}
# Page, a line of the block, and why nothing of it runs, or where it does.
ELSEWHERE = [
    ("docs/embedding.md", "find_package(Kadam 0.2 REQUIRED)", "the lines of tests/install, with another name"),
    ("docs/fortran.md", "call kadam_kokkos_initialize(stat", "compared with the modules by fortran_test.py"),
    ("docs/fortran.md", "call setup%create(optimizer)", "compared with the modules by fortran_test.py"),
    ("docs/fortran.md", "call optimizer%create(setup, comm, stat", "compared with the modules by fortran_test.py"),
    ("docs/spack.md", "package_attributes:", "a setting of Spack, which is not to be had here"),
    ("docs/spack.md", 'depends_on("kadam@0.2 +mpi")', "a part of somebody else's recipe for Spack"),
    ("docs/replay.md", 'start = numpy.load("recording/parameters.npy")', "run by replay_test.py"),
    ("docs/file_formats.md", "def read(path):", "run by formats_test.py"),
    ("docs/file_formats.md", 'open("runs/a/metrics.jsonl")', "run by formats_test.py"),
    ("docs/configuration.md", 'name = "onebit_adam"', "run by formats_test.py"),
]


def words(text):
    """Code without its line breaks and indents, which differ between a page and a file."""
    return " ".join(text.split())


def sources_of(language):
    return [words(file.read_text()) for pattern in SOURCES[language] for file in root.glob(pattern)]


def without_includes(code):
    lines = code.splitlines()
    included = [line for line in lines if line.startswith("#include")]
    return included, words("\n".join(line for line in lines if not line.startswith("#include")))


mistakes, checked, used = [], 0, set()
for page in pages(root):
    name = str(page.relative_to(root))
    for language, code in blocks(page):
        if language not in SOURCES:
            continue
        checked += 1
        if language == "python":
            compile(code, name, "exec")
        reasons = [entry for entry in ELSEWHERE if entry[0] == name and entry[1] in code]
        used.update(reasons)
        included, rest = without_includes(code)
        is_part_of = [all(part in source for part in [rest, *included]) for source in sources_of(language)]
        if not reasons and not any(is_part_of):
            mistakes.append(f"{name} shows code that is in no file of {SOURCES[language]}:\n{code}")
mistakes += [f"ELSEWHERE has an entry that is not used: {entry}" for entry in ELSEWHERE if entry not in used]
end(mistakes, checked)
