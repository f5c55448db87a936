# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gallery.sh with stand-ins for the lab and the programs: gallery_test.py FOLDER_OF_SCRIPTS"""
import contextlib
import dataclasses
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from types import SimpleNamespace

from expect import expect
from made_lab import NETLAB, TRAIN, program
from made_optimizers import DOCTOR

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SCRIPTS / folder) for folder in ("gallery", "bench_network")]
import cases  # noqa: E402
import heat  # noqa: E402
import main  # noqa: E402
import stories  # noqa: E402

PAGE = "# Gallery\nbefore\n<!-- gallery bert -->\nold\n<!-- /gallery bert -->\nafter\n"
# What the solver in Fortran says; on slow hosts dense Adam fails.
HEAT = """#!/bin/sh
[ "$1" = adam ] && grep -q 10mbit "$(dirname "$0")/rates" 2>/dev/null && echo "heat: an error" && exit 3
echo "$1 on 4 ranks, 4800 training steps"
echo "per jump: solver    0.639 ms, training    3.451 ms"
echo "relative error of a jump from an unseen start: surrogate  2.527E-03, field unchanged  7.731E-03"
[ "$1" = adam ] && sent=7508 || sent=908
echo "sent per training step and rank: $sent B; the gradient has 4900 B"
"""
MPIRUN = '#!/bin/sh\necho run >>"$(dirname "$0")/alone"\nshift 2\nexec "$@"\n'


def programs_in(folder):
    for file, text in (("netlab", NETLAB), ("kadam-train", TRAIN), ("kadam-doctor", DOCTOR), ("example_heat", HEAT),
                       ("mpirun", MPIRUN)):
        program(folder / file, text)


def said_by(folder, *more):
    sys.argv = ["main.py", "--netlab", str(folder / "netlab"), "--program", str(folder / "kadam-train"), "--output",
                str(folder / "out"), *more]
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
        main.main(folder / "docs")
    return said.getvalue()


def row_of(text, *labels):
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    found = [dict(zip(rows[0], row)) for row in rows if tuple(row[:len(labels)]) == labels]
    expect(len(found) == 1, labels, "is not one row of", text)
    return found[0]


def with_rows(name, *rows):
    """A story of the same name with other rows; loss, steps and warm-up are those of the stand-in for kadam-train."""
    story = stories.STORIES[name]
    workload = dataclasses.replace(story.workload, loss=2.51, settings={})
    stories.STORIES[name] = dataclasses.replace(story, workload=workload, rows=rows)


def tells_a_training(folder):
    with_rows("bert", ("adam", "adam", {}), ("adam bf16", "adam", stories.BF16), ("lamb", "lamb", {}),
              ("onebit_adam", "onebit_adam", {"warmup_steps": 50}))
    (folder / "docs" / "pictures").mkdir(parents=True)
    page = folder / "docs" / "gallery.md"
    page.write_text(PAGE)
    cases.load.share_now = lambda: 0.25
    text = said_by(folder, "--write", "bert")
    expect((folder / "rates").read_text().split() == ["none", "100mbit"], "trainings are not shaped, steps are")
    dense, bf16, onebit = (row_of(text, label) for label in ("adam", "adam bf16", "onebit_adam"))
    # 4 s a step; the mean of 20 losses is 2.51 at step 60 (3.01 - 0.01 * 50.5 = 2.505), of 100 steps.
    expect(dense == {"method": "adam", "step, ms": "4000", "in the warm-up, ms": "", "sent per step": "8 kB",
                     "mean of all steps": "8 kB", "steps to 2.51": "60", "time to 2.51": "240 s",
                     "whole training": "400 s", "held-out loss": "2.0000"}, dense)
    expect(bf16["time to 2.51"] == "120 s" and bf16["whole training"] == "200 s", bf16)
    # Steps 51 to 60, and to 100, of 1.25 s.
    expect(onebit["step, ms"] == "1250" and onebit["in the warm-up, ms"] == "4000", onebit)
    expect(onebit["time to 2.51"] == "212 s" and onebit["whole training"] == "262 s", onebit)
    expect(row_of(text, "lamb")["step, ms"] == "failed" and "lamb: exit code 1" in text, text)
    expect("`scripts/gallery.sh bert`" in text and "4 ranks" in text and "used 25 %" in text, text)
    expect(page.read_text() == PAGE.replace("old\n", text), "the page has not what was said")
    drawn = (folder / "docs" / "pictures" / "gallery_bert.svg").read_text()
    for words in ("adam", "adam bf16", "onebit adam", "seconds", "240 s"):
        expect(f">{words}<" in drawn, words, "is not drawn")
    expect("lamb" not in drawn, "what failed is drawn")
    # Again: only what failed, a training and timed steps.
    before = (folder / "runs").read_text().count("run")
    expect(said_by(folder, "bert") == text, "another text of the same runs")
    expect((folder / "runs").read_text().count("run") - before == 2, "runs that were there were repeated")


def exchanges_in_two_levels(folder):
    flat, two = "adam bf16, one level", "adam bf16"
    with_rows("two_sites", (flat, "adam", stories.BF16), (two, "adam", stories.BF16))
    text = said_by(folder, "two_sites")
    expect((folder / "rates").read_text().split() == ["none0ms", "100mbit50ms"], "no delay")
    records = [json.loads(line) for line in (folder / "out" / "two_sites" / "cases.jsonl").read_text().splitlines()]
    for record in records:
        in_two = "-x KADAM_RANKS_PER_NODE=2" in record["made_by"]
        expect("2 hosts of 2 ranks" in record["made_by"] and in_two == (record["method"] == two), record)
    # One level is timed and not trained.
    expect(len(records) == 3 and row_of(text, flat)["step, ms"] == "2000", records)
    expect(row_of(text, flat)["time to 2.51"] == "" and row_of(text, two)["time to 2.51"] == "120 s", text)
    expect("in two levels to those of other hosts" in text, text)


def tells_of_the_solver(folder):
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"

    def told(netlab):
        arguments = SimpleNamespace(netlab=netlab, program=str(folder / "kadam-train"))
        return heat.table(heat.measure(stories.FORTRAN, arguments, cases.Records(folder / "cases"), folder / "heat"))

    alone = told("")
    expect((folder / "alone").read_text().count("run") == len(heat.OPTIMIZERS), "not on one machine")
    expect(alone.count("\n| one machine") == 3 and "hosts, " not in alone, alone)
    onebit = row_of(alone, "one machine", "onebit_adam")
    expect(list(onebit.values())[2:] == ["0.64", "3.45", "908 B", "8.27x", "0.00253", "0.00773"], onebit)
    text = told(str(folder / "netlab"))
    expect((folder / "alone").read_text().count("run") == len(heat.OPTIMIZERS), "runs that were there were repeated")
    expect(row_of(text, "4 hosts, 10mbit", "onebit_adam")["sent per training step"] == "908 B", text)
    expect(row_of(text, "4 hosts, 10mbit", "adam")["solver, ms per jump"] == "failed", text)
    expect("adam, 10mbit: exit code 3: heat: an error" in text, text)
    said = (folder / "heat" / "one_machine" / "onebit_adam" / "output.txt").read_text()
    expect(said.strip() in heat.output_of(folder / "heat"), "the output is not shown")


def does_not_take_other_words_for_figures(folder):
    del folder
    try:
        heat.figures("per jump: solver 1.0 ms, training 2.0 ms")
    except SystemExit as refused:
        expect("does not say error, unchanged, sent" in str(refused), refused)
    else:
        expect(False, "figures of a text without them")


def refuses_in_words(folder):
    train = str(folder / "kadam-train")
    for wrong, word in ((["bart"], "no story bart; choose from bert, fortran, two_sites"), (["--speed"], "--speed"),
                        (["bert", "--output"], "a value"), (["bert", "fort"], "no story fort"),
                        (["--program", "/nowhere", "bert"], "/nowhere")):
        # With a program nothing is built where a rule is broken.
        refused = subprocess.run([SCRIPTS / "gallery.sh", "--program", train, *wrong], capture_output=True, text=True,
                                 check=False, stdin=subprocess.DEVNULL, timeout=30)
        expect(refused.returncode == 1 and refused.stderr.count("\n") == 1 and refused.stdout == ""
               and word in refused.stderr, wrong, refused)


for test in (tells_a_training, exchanges_in_two_levels, tells_of_the_solver, does_not_take_other_words_for_figures,
             refuses_in_words):
    with tempfile.TemporaryDirectory() as name:
        programs_in(pathlib.Path(name))
        test(pathlib.Path(name))
