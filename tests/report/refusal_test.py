# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is no run is refused with a sentence that names it: refusal_test.py KADAM_REPORT"""
import pathlib
import sys
import tempfile

import made_runs
from expect import expect
from reporter import Reporter

reporter = Reporter(sys.argv[1])

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    made_runs.write_run(folder / "good", "adam")
    (folder / "empty").mkdir()
    for broken, file, content in (("words", "metrics.jsonl", "not\njson\n"), ("record", "run.json", "[1]"),
                                  ("comparison", "comparison.json", "{}")):
        inner = folder / broken / "adam" if broken == "comparison" else folder / broken
        made_runs.write_run(inner, "adam")
        (folder / broken / file).write_text(content)
    (folder / "insitu").mkdir()
    (folder / "insitu" / "metrics.jsonl").write_text('{"jump": 1, "step": 10, "loss": 0.5}\n')
    cases = [
        ([], "RUN is required"),
        ([folder / "nowhere"], "nowhere: there is no such folder; expected one that kadam-train --run has written"),
        ([folder / "good/metrics.jsonl"], "metrics.jsonl: there is no such folder"),
        ([folder / "empty"], "empty: expected metrics.jsonl in it"),
        ([folder / "words"], "words/metrics.jsonl: expected a JSON object"),
        ([folder / "insitu"], "insitu/metrics.jsonl: expected a JSON object"),
        ([folder / "record"], "record/run.json: expected a JSON object"),
        ([folder / "comparison"], "comparison/comparison.json: expected a JSON list"),
        ([folder / "good", f"{folder}/empty/../good"], "was given twice"),
        ([folder / "good", "--out", folder / "no/where.html"], "no/where.html: cannot be written"),
        ([folder / "good", "--frobnicate"], "--frobnicate"),
    ]
    for options, words in cases:
        done = reporter.start(*options)
        expect(done.returncode == 2 and not done.stdout, options, done)
        expect(words in done.stderr and done.stderr.startswith("kadam-report: "), words, "not in", done.stderr)
        expect(len(done.stderr.splitlines()) == 1, done.stderr)
    expect(not list(folder.rglob("*.html")), "a page was written")

    # A Python that has nothing of its own, and one that there is not.
    bare = folder / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    for python, words in ((bare, "Matplotlib and Jinja2 are missing in"), ("none", "none: there is no such program")):
        done = reporter.start(folder / "good", environment={"KADAM_PYTHON": str(python)})
        expect(done.returncode == 1 and words in done.stderr and len(done.stderr.splitlines()) == 1, done)
    expect(reporter.start("--help", environment={"KADAM_PYTHON": str(bare)}).returncode == 0, "no help without them")
    expect(not list(folder.rglob("*.html")), "a page was written")

    done = reporter.start(folder / "good", cwd=folder)
    expect(done.returncode == 0 and (folder / "good/report.html").exists(), done)
    made_runs.write_run(folder / "other", "lamb")
    done = reporter.start("good", "other", cwd=folder)
    expect(done.returncode == 0 and (folder / "report.html").exists(), done)
