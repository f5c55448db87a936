# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-report draws what kadam-plan has left: plan_test.py KADAM_REPORT"""
import json
import pathlib
import sys
import tempfile

from expect import expect
from reporter import Reporter

reporter = Reporter(sys.argv[1])
CURVES = [{"name": "adam", "dense": True, "seconds": [1, 2, 3]},
          {"name": "a_code", "dense": False, "seconds": [3, 2, 1]}]
PANELS = [{"title": "ranks, at 1 Gbit/s a host", "base": 2, "x": [2, 4, 8], "curves": CURVES},
          {"title": "Gbit/s of a host, on 8 ranks", "base": 10, "x": [0.1, 1, 10], "curves": CURVES}]

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    file = folder / "plan.curves.json"
    file.write_text(json.dumps({"panels": PANELS}))
    for picture in ("a.svg", "b.svg", "c.png"):
        done = reporter.start("--plan", file, "--out", folder / picture)
        expect(done.returncode == 0 and not done.stderr, done)
    drawn = (folder / "a.svg").read_text()
    expect(drawn == (folder / "b.svg").read_text(), "the same curves make another picture")
    for words in ("adam", "a_code", "seconds per step", "ranks, at 1 Gbit/s a host", "Gbit/s of a host, on 8 ranks"):
        expect(f">{words}<" in drawn, words, "is not in the picture")
    expect("$" not in drawn and "e+" not in drawn, "a number between powers of ten is written in Matplotlib's own language")
    expect("#999999" in drawn and "#0072b2" in drawn and (folder / "c.png").read_bytes().startswith(b"\x89PNG"), "colours or PNG")
    for content in ("", "[]", '{"panels": [1]}', '{"panels": [{"title": "x"}]}'):
        file.write_text(content)
        done = reporter.start("--plan", file, "--out", folder / "d.svg")
        expect(done.returncode == 2 and "plan.curves.json: expected the curves" in done.stderr, content, done)
    for options in ([], ["--out", "d.pdf"], ["--out", "d.svg", folder]):
        done = reporter.start("--plan", file, *options)
        expect(done.returncode == 2 and "--plan needs" in done.stderr, options, done)
