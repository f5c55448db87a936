# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes end kadam-insitu with exit code 2 and one sentence, and nothing is written: refusal_test.py KADAM_INSITU
LAUNCHER..."""
import pathlib
import sys
import tempfile

from expect import expect
from program import Program
from refusals import refusals

program = Program(sys.argv[1:])

# (part of the sentence, options, ranks); 0 ranks: without the launcher.
CASES = [
    ("not expected: --frobnicate", ["--frobnicate"], 2),
    ("there is no optimizer 'onebit': choose one of adam", ["--optimizer", "onebit"], 2),
    ("a grid of 5 rows cannot give each of 2 ranks at least 3 rows", ["--set", "solver.height=5"], 2),
    ("used holds metrics.jsonl already", ["--run", "used"], 2),
    ("adam has no option 'beta'", ["--set", "optimizer.beta=1"], 0),
    ("onebit_adam", ["--optimizer", "onebit_adam"], 0),  # needs warmup_steps
    ("'solver.time_step': 2 is not stable", ["--set", "solver.time_step=2"], 0),
    ("has no option 'solver.with'", ["--set", "solver.with=2"], 0),
    ("expected section.key=value", ["--set", "solver"], 0),
    ("'lr' is a list of 2 entries for a run of 3000 steps", ["--set", "optimizer.lr=[0.1, 0.2]"], 0),
    ("nowhere.toml: there is no such file", ["--config", "nowhere.toml"], 0),
    ("cannot create the folder", ["--run", "file/run"], 0),
]


def completed(folder, options):
    """Paths inside of the folder, and a place for the results unless the case has its own."""
    if "--run" not in options:
        options = ["--run", "run", *options]
    return [folder / o if o in ("run", "used", "file/run") else o for o in options]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "used").mkdir()
    (folder / "used" / "metrics.jsonl").write_text("")
    (folder / "file").write_text("")
    before = sorted(folder.rglob("*"))
    refusals(program, [(words, completed(folder, options), ranks) for words, options, ranks in CASES])
    expect(sorted(folder.rglob("*")) == before, "written:", *set(folder.rglob("*")) - set(before))

    # A field that does not change is no mistake of the options: it is seen when the run has begun.
    still = program.start(2, "--set", "solver.spots=0", "--set", "solver.noise=0", "--run", folder / "still")
    expect(still.returncode not in (0, 2) and "nothing to learn" in still.stderr, still.stderr)
    help_text = program.run(0, "--help")
    expect("solver.feed" in help_text and "(default 0.018)" in help_text and "--optimizer" in help_text, help_text)
    expect(program.run(0, "--version").startswith("kadam-insitu "), "--version")
