# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/bench_network.sh with stand-ins for the lab and the programs: bench_network_test.py FOLDER_OF_SCRIPTS"""
import contextlib
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

from expect import expect
from made_lab import NETLAB, TRAIN, program
from made_optimizers import DOCTOR, KINDS

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SCRIPTS / "bench_network"))
import cases  # noqa: E402
import kadam_runs  # noqa: E402
import main  # noqa: E402
import studies  # noqa: E402
import tables  # noqa: E402

# In place of Python with PyTorch: rank 0 of a DDP run takes 5 s, without exchange 3 s; PowerSGD does not work.
PYTHON = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
exchange, rank = words[words.index("--exchange") + 1], words[words.index("--rank") + 1]
if exchange == "powersgd":
    sys.exit("gloo::EnforceNotMet: error")
print("some noise")
if rank == "0":
    print(json.dumps({"step_seconds_each": [3.0 if exchange == "none" else 5.0] * 12, "parameters": 20490}))
"""


def near(value, wanted, *said):
    expect(value is not None and math.isclose(value, wanted, rel_tol=1e-9), *said, value, "is not", wanted)


def line(step, phase, seconds, loss=1.0):
    parts = {f"{part}_seconds": seconds / 4 for part in kadam_runs.PARTS}
    return {"step": step, "phase": phase, "loss": loss, "bytes_per_step": 10.0 * step, "bytes_sent": 10 * step,
            "skipped_steps": 0, **parts}


def tells_phases_apart():
    seconds = [50, 8, 7] + [1, 1, 1, 5] + [1, 1, 2, 6] + [90, 1, 1, 1]
    phases = ["variance", "variance", "sync"] + ["local", "local", "local", "sync"] * 3
    timing = kadam_runs.timing_of([line(k + 1, *one) for k, one in enumerate(zip(phases, seconds))], studies.ROUND)
    near(timing["step_seconds"], 10 / 4, "the round between a quick one and a disturbed one")
    near(timing["compute_seconds"], 10 / 16)
    near(timing["bytes_per_step"], 10 * (8 + 9 + 10 + 11) / 4)
    # Neither the first step of all nor the first synchronisation, which settle.
    wanted = {"variance": 8.0, "local": 4 / 3, "sync": 6.0}
    expect(timing["seconds_of_phase"].keys() == wanted.keys(), timing)
    for phase, of in wanted.items():
        near(timing["seconds_of_phase"][phase], of, phase)
    expect(len(timing["step_seconds_each"]) == 12 and timing["bytes_counted"] == 150, timing)


def tells_the_time_to_a_loss():
    lines = [line(k, "warm-up" if k <= 30 else "compressed", 1.0, 3.0 - 0.01 * k) for k in range(1, 101)]
    # The mean of steps 31 to 50 is 3 - 0.01 * 40.5.
    expect(kadam_runs.steps_to(lines, 2.595 + 1e-9) == 50, kadam_runs.steps_to(lines, 2.595 + 1e-9))
    near(kadam_runs.seconds_to(lines, 2.595 + 1e-9, {"warm-up": 4.0, "compressed": 0.5}), 30 * 4.0 + 20 * 0.5)
    expect(kadam_runs.steps_to(lines, 1.0) is None)
    expect(kadam_runs.seconds_to(lines, 1.0, {"warm-up": 4.0, "compressed": 0.5}) is None)
    expect(kadam_runs.seconds_to(lines, 2.6, {"warm-up": 4.0}) is None, "a phase that was not timed")
    # Where it is at each time, as long as phases are known.
    course = kadam_runs.course_of(lines, {"warm-up": 4.0, "compressed": 0.5})
    expect(len(course) == 100 - kadam_runs.WINDOW + 1, len(course))
    near(course[30][0], 30 * 4.0 + 20 * 0.5, "step 50")
    near(course[30][1], 2.595, "step 50")
    expect(len(kadam_runs.course_of(lines, {"warm-up": 4.0})) == 30 - kadam_runs.WINDOW + 1, "a phase that was not timed")
    lines[44]["loss"] = None
    expect(kadam_runs.steps_to(lines, 2.595) == 65, "a loss that is no number counts as reached")


def knows_the_wire():
    # 2 * 3/4 * 4 bytes * 3,307,264 parameters at 12.5 MB/s, 1514 bytes for 1448.
    near(studies.dense_wire_seconds(studies.TRANSFORMER, "100mbit", 4), 1.5 * 4 * 3307264 / 12.5e6 * 1514 / 1448)
    near(studies.dense_wire_seconds(studies.TRANSFORMER, "100mbit+50ms", 4),
         studies.dense_wire_seconds(studies.TRANSFORMER, "100mbit", 4))
    expect(studies.dense_wire_seconds(studies.TRANSFORMER, "none", 4) == 0.0)
    expect(studies.title_of("100mbit+50ms") == "100 Mbit/s per host, 50 ms from host to host")
    steps = [studies.measured_steps(12, dense, studies.TRANSFORMER, rate, 4)
             for dense, rate in ((True, "10mbit"), (True, "100mbit"), (False, "10mbit"))]
    expect(steps == [4, 12, 12], steps)


def measures_whole_rounds():
    """Of whatever comes back after more than four steps."""
    for name, options, wanted in (("onebit_adam", {}, 4), ("divisible_adam", {}, 8), ("local_muon", {}, 8),
                                  ("local_muon", {"sync_interval": 32}, 32)):
        steps = studies.round_steps(name, options)
        expect(steps == wanted, name, options, steps)
        measured = studies.measured_steps(12, False, studies.TRANSFORMER, "10mbit", 4, steps)
        expect(measured == 3 * wanted, name, options, measured)


def trains_what_nobody_has_tuned():
    methods = studies.methods(KINDS)
    expect({method.optimizer for method in methods} == set(KINDS), "optimizers are left out:", methods)
    dense = {method.optimizer for method in methods if method.dense}
    expect(dense == {"adam", "lamb"}, dense)
    of = {method.label: method for method in methods}

    def options(words, name):
        start = f"optimizer.{name}."
        settings = [word.split("=") for word in words if word.startswith(start)]
        return {key.removeprefix(start): value for key, value in settings}

    new, plain, onebit = (of[name] for name in ("new_adam", "plain_adam", "onebit_adam"))
    for workload, quarter in (studies.TRANSFORMER, "75"), (studies.CNN, "200"):
        curve = options(kadam_runs.curve_command("train", workload, new, ""), "new_adam")
        expect(curve == {"new_steps": quarter}, workload.name, curve)
        timed = options(kadam_runs.timed_command("train", workload, new, 12, ""), "new_adam")
        wanted = {"new_steps": "2", "sync_doubling_steps": "1", "sync_interval_max": "4", "lr": "1e-06"}
        expect(wanted.items() <= timed.items(), workload.name, timed)
        expect(options(kadam_runs.curve_command("train", workload, plain, ""), "plain_adam") == {}, "plain")
    # Known ones have their tuned options, in the file of the CNN and beside that of the transformer.
    curve = options(kadam_runs.curve_command("train", studies.TRANSFORMER, onebit, ""), "onebit_adam")
    expect(curve == {"warmup_steps": "75"}, curve)
    curve = options(kadam_runs.curve_command("train", studies.CNN, onebit, ""), "onebit_adam")
    expect(curve == {}, curve)


def command_line(folder, *more):
    return ["main.py", "--netlab", str(folder / "netlab"), "--program", str(folder / "kadam-train"), "--output",
            str(folder / "out"), "--hosts", "4", "--steps", "4", "--rates", "1gbit,none", "--workloads", "cnn",
            "--algorithms", "adam,lamb,onebit_adam", "--loss", "cnn=2.51", *more]


def said_by(arguments):
    sys.argv = arguments
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as progress:
        main.main()
    return said.getvalue(), progress.getvalue()


def row_of(text, label):
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    rows = [row for row in cells if row[0] == label]
    expect(len(rows) == 2, label, "has no row at each rate in", text)
    return dict(zip(tables.HEAD, rows[0]))


def goes_on_after_a_failure():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, text in (("netlab", NETLAB), ("kadam-train", TRAIN), ("kadam-doctor", DOCTOR)):
            program(folder / file, text)
        cases.load.share_now = lambda: 0.25
        arguments = command_line(folder, "--python", program(folder / "python", PYTHON))
        text, progress = said_by(arguments)
        expect((folder / "rates").read_text().split() == ["none", "1gbit", "none"], "rates")

        expect("other programs used 25 % of the processors" in text, text)
        expect("lamb: exit code 1: kadam-train: error: no room for lamb" in text, text)
        expect("cnn, 1gbit, lamb: failed" in progress and "PowerSGD hook: failed" in progress, progress)
        adam, bf16, onebit, ddp = (row_of(text, label) for label in ("adam", "adam bf16", "onebit_adam", "PyTorch DDP"))
        expect(adam["step, ms"] == "4000" and adam["exchange"] == "3250" and adam["against dense"] == "0.50x", adam)
        expect(bf16["against dense"] == "1.00x" and bf16["against DDP"] == "2.50x", bf16)
        expect([row["to no exchange"] for row in (adam, onebit, ddp)] == ["1.00", "0.31", "1.67"], onebit, ddp)
        early = row_of(text, "adam, overlapped")
        expect(early["step, ms"] == "4000" and early["time to loss"] == "240 s", early)
        # Rounds of three steps of 1 s and one of 2 s.
        expect(onebit["step, ms"] == "1250" and onebit["sent per step"] == "8 kB", onebit)
        expect(onebit["against dense"] == "1.60x" and onebit["against DDP"] == "4.00x", onebit)
        # The mean of 20 steps is 2.51 at step 60 (3.01 - 0.01 * 50.5 = 2.505); 50 of them warm-up.
        expect(onebit["steps to loss"] == "60" and onebit["time to loss"] == "212 s", onebit)  # 50 * 4 + 10 * 1.25
        expect(adam["time to loss"] == "240 s" and ddp["steps to loss"] == "60" and ddp["time to loss"] == "300 s", ddp)
        expect(ddp["compute"] == "3000" and ddp["exchange"] == "2000" and ddp["against DDP"] == "1.00x", ddp)

        # The picture has of each kind the one that is first at the loss.
        drawn = (folder / "out" / "loss_over_time.svg").read_text()
        for label in ("adam", "adam bf16", "PyTorch DDP", "onebit adam"):
            expect(f">{label}<" in drawn, label, "is not drawn")
        expect("overlapped" not in drawn and "lamb" not in drawn, "more is drawn")

        records = [json.loads(line) for line in (folder / "out" / "cases.jsonl").read_text().splitlines()]
        # What computes the same is trained once.
        expect(len(records) == 5 + 2 * (9 + len(studies.PEERS)), len(records))
        fourth = folder / "out" / "timed" / "cnn" / "none" / "adam,_no_exchange_3" / "adam"
        expect(fourth.is_dir(), "not 4 hosts alone")
        afterwards = {r["method"] for r in records if "training.overlap=false" in r["made_by"]}
        expect(afterwards == {"adam", "adam bf16"}, afterwards)
        timed = next(r for r in records if (r["method"], r["rate"]) == ("onebit_adam", "1gbit"))
        expect(timed["bytes_on_interface"] == 1000000 and timed["seconds_to_loss"] == 212.5, timed)
        expect((folder / "out" / "network.md").read_text() == text, "network.md is not what was said")

        # Again: only what failed.
        before = (folder / "runs").read_text().count("run")
        again, _ = said_by(arguments)
        failed = 1 + 2 * (1 + 4)  # a curve, and at each rate one run of Kadam and four processes of PyTorch
        expect((folder / "runs").read_text().count("run") - before == failed, "runs that were there were repeated")
        expect(row_of(again, "onebit_adam") == onebit, again)


def shapes_with_a_delay():
    """Each rate says its delay where any has one: none is left over from another."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, text in (("netlab", NETLAB), ("kadam-train", TRAIN), ("kadam-doctor", DOCTOR)):
            program(folder / file, text)
        text, _ = said_by(command_line(folder, "--rates", "1gbit+50ms,none", "--algorithms", "onebit_adam"))
        expect((folder / "rates").read_text().split() == ["none0ms", "1gbit50ms", "none0ms"], "rates")
        expect("1 Gbit/s per host, 50 ms from host to host" in text, text)


def refuses_in_words():
    with tempfile.TemporaryDirectory() as name:
        train = program(pathlib.Path(name) / "kadam-train", TRAIN)
        program(pathlib.Path(name) / "kadam-doctor", DOCTOR)
        (pathlib.Path(name) / "alone").mkdir()
        without_doctor = program(pathlib.Path(name) / "alone" / "kadam-train", TRAIN)
        for wrong, word in ((["--rates", "fast"], "fast"), (["--rates", "1gbit+50"], "1gbit+50"), (["--steps", "5"], "multiple"),
                            (["--algorithms", "sgd", "--program", train], "no algorithm sgd; choose from adam, lamb"),
                            (["--workloads", "mnist"], "mnist"), (["--loss", "cnn=low"], "low"),
                            (["--loss", "0.5"], "0.5"), (["--speed"], "--speed"), (["--hosts"], "a value"),
                            (["--program", "/nowhere"], "/nowhere"),
                            (["--program", without_doctor], "needs kadam-doctor")):
            refused = subprocess.run([SCRIPTS / "bench_network.sh", *wrong], capture_output=True, text=True, check=False,
                                     stdin=subprocess.DEVNULL, timeout=30)
            expect(refused.returncode == 1 and refused.stderr.count("\n") == 1 and refused.stdout == ""
                   and word in refused.stderr, wrong, refused)


expect(0 <= cases.load.share_now() <= 1, "a share of the processors")
for test in (tells_phases_apart, tells_the_time_to_a_loss, knows_the_wire, measures_whole_rounds,
             trains_what_nobody_has_tuned, goes_on_after_a_failure, shapes_with_a_delay, refuses_in_words):
    test()
