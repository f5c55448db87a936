# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts of faults that were caught, kept in a file: a run that was stopped goes on where it was."""
import json


class Verdicts:
    """Those of one copy of the sources. A line of the file is a fault that some tests caught; without=True starts
    anew."""

    def __init__(self, path, sources, without=False):
        self.path = path
        self.sources = sources
        self.caught = {}
        if without:
            path.unlink(missing_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            try:
                one = json.loads(line)
            except ValueError:  # the run ended while it wrote this line
                continue
            if one["sources"] == sources:
                self.caught[one["fault"], json.dumps(one["runs"])] = one["caught"]

    def find(self, fault, runs):
        """The tests that caught the fault, as texts, when `runs` were to be tried; None if it was not caught yet."""
        return self.caught.get((fault, json.dumps(runs)))

    def keep(self, fault, runs, caught):
        self.caught[fault, json.dumps(runs)] = caught
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as out:
            print(json.dumps({"sources": self.sources, "fault": fault, "runs": runs, "caught": caught}), file=out)
