# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A run with trace.json has a strip of two steps on its page; whatever trace.json is, there is a page:
timeline_test.py KADAM_REPORT"""
import json
import pathlib
import re
import sys
import tempfile

import made_runs
from expect import expect
from reporter import Reporter

reporter = Reporter(sys.argv[1])
TWO_STEPS = "Two steps, seen from rank 0 and rank 1"


def check_bars(folder):
    """Eight steps from 100 to 500 ms; in the background something from 302 to 362: the two steps that
    have most of it, from 300 to 400, are shown."""
    made_runs.write_run(folder / "a", "divisible_adam")
    without = reporter.page(folder / "without.html", folder / "a")
    expect("trace.json" not in without.text, "a remark about what nobody asked for")
    made_runs.write_timeline(folder / "a")
    page = reporter.page(folder / "a.html", folder / "a")
    shown = page.tables[TWO_STEPS]
    expect(shown[0] == ["rank", "ms", "of the time", "while it computes"], shown)
    # Gradients from 300 to 330 and from 350 to 380; of rank 1 from 303 to 333 and from 353 to 383.
    expect(shown[1:8] == [["0: compute", "60.00", "60 %", "–"], ["0: wait", "8.00", "8 %", "0.00"],
                          ["0: encode", "2.00", "2 %", "0.00"], ["0: exposed exchange", "10.00", "10 %", "0.00"],
                          ["0: decode", "4.00", "4 %", "0.00"], ["0: network", "10.00", "10 %", "0.00"],
                          ["0: background", "60.00", "60 %", "40.00"]], shown)
    expect(shown[8] == ["1: compute", "60.00", "60 %", "–"], shown)
    expect(shown[14] == ["1: background", "60.00", "60 %", "39.00"] and len(shown) == 15, shown)
    for words in ("Rank 0 computes during 40.00 of the 60.00 ms of background exchange.",
                  "The clock of rank 1 may be wrong by 0.02 ms."):
        expect(words in page.text, "missing:", words)
    again = reporter.page(folder / "again.html", folder / "a")
    expect(again.source == page.source, "the same files make another page")
    expect(page.pictures.index("timeline-1") == page.pictures.index("time") + 1, page.pictures)
    check_picture(page.source)


def check_picture(source):
    """In the colours of the page, at the right places: the first gradient is as long as the second, at half the way."""
    picture = source[source.index('<figure id="timeline-1">'):]
    picture = picture[:picture.index("</figure>")]
    svg = picture[picture.index('role="img"'):]
    paths = re.findall(r'<path d="([^"]*)" style="fill: #bbcc33"', svg)
    boxes = [box for path in paths for box in path.split("z")[:-1]]
    edges = [sorted({float(x) for x in re.findall(r"[ML] (\S+) ", box)}) for box in boxes]
    expect(len(edges) == 4, edges)
    (a, b), (c, d), (e, _), _ = edges
    expect(abs((b - a) - (d - c)) < 0.1 and abs((c - a) - (b - a) * 5 / 3) < 0.1, edges)
    expect(abs(e - a - (b - a) / 10) < 0.1, "rank 1 is 3 ms late", edges)
    for words in ("rank 0", "rank 1", "optimizer", "background", "milliseconds"):
        expect(f">{words}<" in svg, "not in the picture:", words)


def check_others(folder):
    """One rank, one step; no background; several runs; an exchange that had not ended; pauses between all steps."""
    made_runs.write_run(folder / "b" / "lamb", "lamb")
    made_runs.write_run(folder / "b" / "adam", "adam")
    made_runs.write_timeline(folder / "b/lamb", ranks=1, steps=1, background=())
    made_runs.write_timeline(folder / "b/adam", ranks=5, steps=3, background=())
    page = reporter.page(folder / "b.html", folder / "b")
    for title in ("One step of lamb, seen from rank 0", "Two steps of adam, seen from rank 0 and rank 1"):
        expect(title in page.tables, title, page.tables.keys())
    expect(page.pictures[-3:-1] == ["timeline-1", "timeline-2"], page.pictures)
    expect(">background<" not in page.source[page.source.index('id="timeline-1"'):], "an empty row")
    events = [event for event in made_runs.timeline_of(0, 4, (200,)) if event["name"] != "background exchange"]
    for event in events:  # 20 ms between steps
        step = (event.get("ts", 0) - 100000) // 50000
        if event.get("tid", 3) != 3:
            event["ts"] += 20000 * step
    (folder / "b/lamb/trace.json").write_text(json.dumps({"traceEvents": events}))
    page = reporter.page(folder / "b.html", folder / "b/lamb")
    shown = page.tables["One step, seen from rank 0"]
    # Steps from 100, 170, 240, 310; messages from 200 to 260: most of them in the third, whose gradient ends at 270.
    expect(shown[-1] == ["0: background", "20.00", "40 %", "20.00"], shown)


def check_broken(folder):
    made_runs.write_run(folder / "c", "adam")
    file = folder / "c" / "trace.json"
    made_runs.write_timeline(folder / "c")
    whole = file.read_text()
    for content, words in ((whole[:-400], "it is not valid JSON"), ("", "it is not valid JSON"),
                           ("[]", "it has no list traceEvents"), ("{}", "it has no list traceEvents"), ('{"traceEvents": []}', "it has no step of rank 0"),
                           (whole.replace('"dur": 50000', '"dur": 0'), "its steps take no time"),
                           (whole.replace("kadam-train::step", "another"), "it has no step of rank 0")):
        file.write_text(content)
        page = reporter.page(folder / "c.html", folder / "c")
        expect(f"adam: trace.json is not shown: {words}" in page.text, words, "not in", page.text[:900])
        expect(TWO_STEPS not in page.text and page.pictures, words, page.pictures)
    file.unlink()
    file.mkdir()
    expect("adam: trace.json is not shown" in reporter.page(folder / "c.html", folder / "c").text, "a folder")


with tempfile.TemporaryDirectory() as name:
    for check in (check_bars, check_others, check_broken):
        check(pathlib.Path(name))
