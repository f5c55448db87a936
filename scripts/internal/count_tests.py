# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names the tests that were skipped, each with its own words why, and counts: count_tests.py JUNIT-FILE

The last line: N passed, N failed, and N skipped if there are any."""
import sys
import xml.etree.ElementTree as xml


def reason_of(case):
    """The test's line `skipped: ...`; ctest's own word for a test that is switched off."""
    for line in reversed((case.findtext("system-out") or "").splitlines()):
        if line.startswith("skipped: "):
            return line.removeprefix("skipped: ")
    return "it is disabled" if case.get("status") == "disabled" else "it does not say why"


def main():
    cases = xml.parse(sys.argv[1]).getroot().findall("testcase")
    failed = [case for case in cases if case.find("failure") is not None or case.get("status") == "fail"]
    skipped = [case for case in cases if case.find("skipped") is not None or case.get("status") == "disabled"]
    for case in skipped:
        print(f"skipped: {case.get('name')}: {reason_of(case)}")
    passed = len(cases) - len(failed) - len(skipped)
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))


main()
