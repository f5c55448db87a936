# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options, messages and exit codes of kadam-report."""
import argparse
import importlib.metadata
import importlib.util
import pathlib
import platform
import sys

from kadam_report.read_runs import read_runs
from kadam_report.run import Refusal

SUCCESS, FAILURE, USAGE = 0, 1, 2
NEEDS = {"matplotlib": "Matplotlib", "jinja2": "Jinja2"}
HELP = """\
Makes one HTML page with tables and figures of one or several runs of kadam-train.

Usage: kadam-report RUN... [--out FILE] [--title TEXT]
       kadam-report --plan FILE --out PICTURE

Positionals:
  RUN                   folder of a run, or of a comparison

Options:
  -h,--help             print this text
  --version             print the version and details of the build
  --out FILE            file to write (default report.html in RUN, or in the
                        working folder for several RUNs); overwrites the file
  --title TEXT          title of the page (default: the optimizers' names)
  --plan FILE           instead of a page, draw the curves in FILE, which
                        kadam-plan --plot wrote; PICTURE ends in .svg or .png
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"kadam-report: {message}; see kadam-report --help", file=sys.stderr)
        sys.exit(USAGE)


def parsed(arguments):
    parser = Parser(prog="kadam-report", add_help=False, allow_abbrev=False)
    parser.add_argument("runs", nargs="*", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--title", default="")
    parser.add_argument("--plan", type=pathlib.Path)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--version", action="store_true")
    options = parser.parse_intermixed_args(arguments)
    if options.help or options.version:
        return options
    if options.plan and (options.runs or not options.out or options.out.suffix not in (".svg", ".png")):
        parser.error("--plan needs --out with a name that ends in .svg or .png, and takes no RUN")
    if not options.plan and not options.runs:
        parser.error("RUN is required")
    return options


def version_text(version):
    found = [f"{name} {importlib.metadata.version(module) if importlib.util.find_spec(module) else 'is missing'}"
             for module, name in NEEDS.items()]
    return f"kadam-report {version}\nPython {platform.python_version()}, {', '.join(found)}"


def write(options):
    """Writes the page or the picture; returns its path. Matplotlib is loaded late: that takes a second."""
    if options.plan:
        from kadam_report.plan import draw_plan
        draw_plan(options.plan, options.out)
        return options.out
    runs = read_runs(options.runs)
    # In the folder of the only run; in the working folder if there are several.
    file = options.out or (options.runs[0] if len(options.runs) == 1 else pathlib.Path()) / "report.html"
    from kadam_report.page import write_page
    write_page(runs, file, options.title)
    return file


def main(version, arguments):
    """Runs kadam-report; returns its exit code."""
    options = parsed(arguments)
    if options.help or options.version:
        print(HELP.rstrip() if options.help else version_text(version))
        return SUCCESS
    missing = [name for module, name in NEEDS.items() if importlib.util.find_spec(module) is None]
    if missing:
        are = "are" if missing[1:] else "is"
        print(f"kadam-report: {' and '.join(missing)} {are} missing in {sys.executable}: install python3-matplotlib and "
              "python3-jinja2 (pip: matplotlib jinja2), or set KADAM_PYTHON to a Python that has them", file=sys.stderr)
        return FAILURE
    try:
        print(f"{'Picture:' if options.plan else 'Report: '} {write(options)}")
        return SUCCESS
    except Refusal as error:
        print(f"kadam-report: {error}", file=sys.stderr)
        return USAGE
