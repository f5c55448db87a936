# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stands on the page is what the files say: page_test.py KADAM_REPORT"""
import json
import pathlib
import sys
import tempfile

import made_runs
from expect import expect
from reporter import Reporter

reporter = Reporter(sys.argv[1])


def check_comparison(folder):
    made_runs.write_comparison(folder / "a")
    page = reporter.page(folder / "a.html", folder / "a")
    expect("Kadam comparison: zero_one_adam, adam" in page.text, "the order of comparison.json is not kept")
    header, first, second = page.tables["Results"]
    expect(first == ["zero_one_adam", f"{made_runs.loss_at(400, 1.0):.4f}", "1.1000", "81.25 %", "2.6 kB", "30.8×",
                     "3.6×", "400", "95.2 s"], first)
    expect(second[4:7] == ["80.0 kB", "1.0×", "1.0×"], second)
    losses = page.tables["Training loss over steps, nats"]
    expect(losses[0] == ["optimizer", "step 80", "step 160", "step 240", "step 320", "step 400"], losses)
    shown = [f"{made_runs.loss_at(step, 1.0):.4g}" for step in (80, 160, 240, 320, 400)]
    expect(losses[1] == ["zero_one_adam", *shown], losses)
    times = page.tables["Training loss over time, nats"][0][1:]
    expect(times == [f"{time} seconds" for time in ("1.6", "3.2", "4.8", "6.4", "8")], times)
    expect(page.tables["Bytes sent per step"][1][1:] == ["80.0 kB"] + 4 * ["2.6 kB"], page.tables["Bytes sent per step"])
    bars = page.tables["Time of a step, milliseconds"]
    expect(bars[0] == ["optimizer", "compute", "wait", "encode", "exposed exchange", "decode", "rest", "all"], bars)
    # 3.1 ms of exchange, 2.1 of these waiting.
    expect(bars[1][1:] == ["8.10", "2.10", "0.60", "1.00", "1.10", "0.20", "13.1"], bars)
    expect(page.tables["Held-out loss over steps, nats"][1][-1] == "1.1", page.tables)
    expect(page.tables["Error ratio over steps"][1][-1] == "1.4", page.tables)
    for words in ("2026-03-01 12:34 UTC", "cnn of 20,490 parameters", "here, a processor",
                  "MPI, 2 ranks; 1 thread of OpenMP", "No warnings", 'images <small> & "quoted"',
                  "cd '/home/it'\"'\"'s me'\nexport OMP_NUM_THREADS=1\n"
                  "mpirun -n 2 kadam-train --config 'runs/a b/config.toml'", "kadam-train --set 'a=[1, 2]'",
                  "lr = 0.01"):
        expect(words in page.text, "missing:", words)
    expect("run.json" not in page.text and "goes on" not in page.text, "remarks without reason")
    figures = ["loss-over-steps", "loss-over-time", "held-out-loss", "bytes", "time", "error-ratio"]
    expect(page.pictures == figures, page.pictures)
    expect("dense float32 mean: 80.0 kB" in page.text, "the dense line")
    again = reporter.page(folder / "again.html", folder / "a")
    expect(again.source == page.source, "the same files make another page")
    titled = reporter.page(folder / "titled.html", folder / "a", "--title", "it's <b> & \"c\"")
    expect("<title>it&#39;s &lt;b&gt; &amp; &#34;c&#34;</title>" in titled.source, "title")


def check_old_runs(folder):
    made_runs.write_comparison(folder / "old", new=False)
    page = reporter.page(folder / "old.html", folder / "old")
    expect("zero_one_adam, adam: Its folder has no run.json" in page.text, page.text[:500])
    expect("The command was not recorded" in page.text, "command")
    expect("Training loss over time, nats" not in page.tables, page.tables.keys())
    expect(page.tables["Results"][1][1] == f"{made_runs.loss_at(400, 1.0):.4f}", page.tables["Results"])
    # Beside one of today: both are on the page, told apart by their folders.
    both = reporter.page(folder / "both.html", folder / "old", folder / "a")
    labels = [row[0] for row in both.tables["Results"][1:]]
    expect(labels == ["zero_one_adam (old)", "adam (old)", "zero_one_adam (a)", "adam (a)"], labels)
    expect([row[0] for row in both.tables["Training loss over time, nats"][1:]] == labels[2:], both.tables)
    expect(both.source.count('stroke="#e69f00"') > 1 and 'stroke-dasharray="9 4"' in both.source, "colours")


def check_unfinished(folder):
    """Of another length, going on, with a cut line, null losses and a warning."""
    made_runs.write_run(folder / "part", "onebit_adam", steps=1000, finished=False, evaluations=())
    metrics = folder / "part" / "metrics.jsonl"
    lines = [json.loads(line) for line in metrics.read_text().splitlines()][:60]
    for line in lines[40:]:
        line |= {"loss": None, "skipped_steps": line["step"] - 400}
    for line in lines[30:33]:
        line["warning_error_ratio"] = f"owes <{line['step']}> too much"
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 610, "lo')
    page = reporter.page(folder / "part.html", folder / "a", folder / "part")
    row = next(row for row in page.tables["Results"] if row[0] == "onebit_adam")
    expect(row[1] == "–" and row[7] == "600 of 1,000" and row[8] == "12 s", row)
    losses = page.tables["Training loss over steps, nats"]
    before_gap = f"{made_runs.loss_at(360, 1.0):.4g}"
    expect(losses[-1][0] == "onebit_adam" and losses[-1][-3:] == [before_gap, "–", "–"], losses)
    expect(losses[1][-1] == "–", "a curve goes on behind its end", losses)
    for words in ("onebit_adam: 1 line of metrics.jsonl is incomplete", "onebit_adam: It has no result",
                  "onebit_adam, 3 times between steps 310 and 330: owes <330> too much.",
                  "onebit_adam: 200 of 600 steps were skipped"):
        expect(words in page.text, "missing:", words)
    alone = reporter.page(folder / "alone.html", folder / "part")
    expect("Kadam run: onebit_adam" in alone.text and "nan" not in alone.source, "a single run")


def check_odd_ones(folder):
    """Names that HTML, a shell and Matplotlib could mistake, a run of one line, one of very many, one without steps."""
    name = "a<b>&'\"{{ 7 * 6 }}\n$\\frac{1}$\n`touch made`$(touch made)"
    made_runs.write_run(folder / "odd", name, evaluations=())
    page = reporter.page(folder / "odd.html", folder / "odd", cwd=folder)
    expect(name.replace("\n", " ") in page.text, page.text[:200])
    expect(not list(folder.rglob("made")), "a name was run as a command")
    drawn = page.source[page.source.index('id="time-text"') :]
    expect("$\\frac{1}$" in drawn[: drawn.index("</svg>")], "a name is read as a formula")
    made_runs.write_run(folder / "long-name", "ä" * 40, evaluations=())
    page = reporter.page(folder / "long-name.html", folder / "long-name")  # whose letters have two bytes each
    expect("ä" * 15 + "..." in page.source, "a long name is not cut between letters")
    made_runs.write_run(folder / "short", "adam", steps=10, evaluations=())
    made_runs.write_run(folder / "long", "adam", steps=50000, evaluations=())
    made_runs.write_run(folder / "none", "lamb", steps=0, finished=False, evaluations=())
    page = reporter.page(folder / "lengths.html", folder / "short", folder / "long", folder / "none")
    expect(("Each point is the mean of 13 logged lines" in page.text), "5000 lines are not thinned")
    expect(len(page.source) < 300_000, "large:", len(page.source))
    expect("lamb: No step has been logged" in page.text, page.text[:500])


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for check in (check_comparison, check_old_runs, check_unfinished, check_odd_ones):
        check(folder)
