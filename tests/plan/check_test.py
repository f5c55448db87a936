# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check_plan/main.py with programs that say what they are told to: check_test.py ROOT"""
import os
import pathlib
import subprocess
import sys
import tempfile

from expect import expect

MAIN = pathlib.Path(sys.argv[1]) / "scripts" / "check_plan" / "main.py"

# Says which rate was asked for and with which words programs are to run; runs them here.
NETLAB = """
import pathlib, subprocess, sys
if sys.argv[1] == "shape":
    pathlib.Path(__file__).with_name("rate").write_text(sys.argv[3])
else:
    split = sys.argv.index("--")
    with pathlib.Path(__file__).with_name("words").open("a") as words:
        print(*sys.argv[2:split], pathlib.Path(sys.argv[split + 1]).name, file=words)
    sys.exit(subprocess.run(sys.argv[split + 1:], check=False).returncode)
"""
# A calibration counts how often it was made; a prediction is 0.1 s and 0.3 s in turn, beside the compute time.
PLAN = """
import json, pathlib, sys
words = dict(zip(sys.argv[1:], sys.argv[2:]))
pathlib.Path(__file__).with_name("asked").open("a").write(f"{words['--ranks']} {words.get('--levels')}\\n")
count = pathlib.Path(__file__).with_name("count")
if "--save" in words:
    made = int(count.read_text()) if count.exists() else 0
    count.write_text(str(made + 1))
    pathlib.Path(words["--save"]).write_text(str(made))
else:
    kernels = 0.1 if int(pathlib.Path(words["--machine"]).read_text()) % 2 == 0 else 0.3
    compute = float(words["--compute"][:-1])
    settled = {"seconds": compute + kernels, "compute_seconds": compute, "kernel_seconds": kernels, "exchange_seconds": 0}
    names = ("adam", "onebit_adam", "locally_accumulated_adam")
    print(json.dumps({"predictions": [{"name": name, "settled": settled} for name in names]}))
"""
# The warm-up's step must not count; the middle one of the others does.
TRAIN = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--run") + 1])
folder.mkdir()
lines = [{"step": step, "loss": 1, "compute_seconds": 0.05, "encode_seconds": 0, "exchange_seconds": seconds,
          "decode_seconds": 0.05} for step, seconds in ((8, 9.0), (16, 0.1), (24, 0.15), (32, 0.2))]
folder.joinpath("metrics.jsonl").write_text("\\n".join(map(json.dumps, lines)) + '\\n{"step": 32, "held_out_loss": 1}')
print("adam: mlp of d = 1 234 parameters in 6 tensors")
"""


def program(folder, name, text):
    file = folder / name
    file.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    netlab = program(place, "netlab", NETLAB)
    program(place, "kadam-plan", PLAN)
    program(place, "kadam-train", TRAIN)
    command = [sys.executable, str(MAIN), "--netlab", netlab, "--programs", name, "--steps", "32"]

    def check(*arguments):
        for file in ("count", "words", "asked"):
            (place / file).unlink(missing_ok=True)
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=60,
                              env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})

    def lines_of(file):
        return (place / file).read_text().splitlines()

    FOUR = ("--hosts", "4", "--ranks-per-host", "1")
    done = check(*FOUR, "--rates", "1gbit,10mbit", "--within", "20")
    expect(done.returncode == 0, done)
    rows = done.stdout.splitlines()[2:]
    expect(len(rows) == 6 and (place / "rate").read_text() == "10mbit", done.stdout)
    # Predicted: 50 ms and the mean of 100 and 300; measured: 50 + 150 + 50.
    expect(rows[4] == "| 10mbit | onebit_adam | 250.0 | 250.0 | +0% |", rows)
    expect((place / "count").read_text() == "12", "measured before and after each of 6 trainings")
    expect(set(lines_of("asked")) == {"4 None", "4 flat"}, lines_of("asked"))

    # Several ranks on a host: first in one level, then in two, which kadam-train hears of, and no calibration.
    shared = check("--hosts", "2", "--ranks-per-host", "3", "--rates", "1gbit", "--optimizers", "adam", "--within", "20")
    expect(shared.returncode == 0, shared)
    expect(shared.stdout.splitlines()[2:] == ["| 1gbit | one | adam | 250.0 | 250.0 | +0% |",
                                              "| 1gbit | two | adam | 250.0 | 250.0 | +0% |"], shared.stdout)
    calibration = "--ranks-per-host 3 kadam-plan"
    expect(lines_of("words") == [calibration, "--ranks-per-host 3 kadam-train", calibration, calibration,
                                 "--ranks-per-host 3 --mpirun-args -x KADAM_RANKS_PER_NODE=3 kadam-train", calibration],
           lines_of("words"))
    expect(lines_of("asked") == ["6 None", "6 None", "6 flat", "6 flat", "6 None", "6 None", "6 two", "6 two"],
           lines_of("asked"))
    unknown = check(*FOUR, "--rates", "1gbit", "--optimizers", "sgd")
    expect(unknown.returncode == 1 and "There is no algorithm sgd; choose from adam" in unknown.stderr, unknown)

    program(place, "kadam-plan", PLAN.replace("0.1 if", "0.3 if"))
    worse = check(*FOUR, "--rates", "1gbit", "--within", "20")
    expect(worse.returncode == 1 and "the worst deviation is 40%" in worse.stderr, worse)
