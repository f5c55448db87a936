# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows what failed tests have said, names those skipped, each with its own words why, and counts:
count_tests.py JUNIT-FILE

The last line: N passed, N failed, and N skipped if there are any."""
import sys
import xml.etree.ElementTree as xml


def reason_of(case):
    """Why a test was skipped: its line `skipped: ...`, or ctest's own word for a test that is switched off."""
    for line in reversed((case.findtext("system-out") or "").splitlines()):
        if line.startswith("skipped: "):
            return line.removeprefix("skipped: ")
    return "it is disabled" if case.get("status") == "disabled" else "it does not say why"


def words_of(case):
    """The output of a test, or why it could not be run."""
    not_run = case.find("skipped")
    return (case.findtext("system-out") or "").strip() or ("" if not_run is None else not_run.get("message"))


def was_skipped(case):
    """Whether a test skipped itself, by its exit code, or is switched off; not if its program is missing."""
    skipped = case.find("skipped")
    return case.get("status") == "disabled" or (skipped is not None and "SKIP_" in skipped.get("message", ""))


def main():
    cases = xml.parse(sys.argv[1]).getroot().findall("testcase")
    skipped = [case for case in cases if was_skipped(case)]
    failed = [case for case in cases if case.get("status") != "run" and case not in skipped]
    for case in failed:
        print(f"---- {case.get('name')} failed ----\n{words_of(case)}\n")
    for case in skipped:
        print(f"skipped: {case.get('name')}: {reason_of(case)}")
    passed = len(cases) - len(failed) - len(skipped)
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))


main()
