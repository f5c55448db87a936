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

# Says which rate was asked for, and runs programs here.
NETLAB = """
import pathlib, subprocess, sys
if sys.argv[1] == "shape":
    pathlib.Path(__file__).with_name("rate").write_text(sys.argv[3])
else:
    sys.exit(subprocess.run(sys.argv[3:], check=False).returncode)
"""
# A calibration counts how often it was made; a prediction is 0.1 s and 0.3 s in turn, beside the compute time.
PLAN = """
import json, pathlib, sys
words = dict(zip(sys.argv[1:], sys.argv[2:]))
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
    done = subprocess.run([*command, "--rates", "1gbit,10mbit", "--within", "20"], capture_output=True, text=True,
                          check=False, timeout=60, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    expect(done.returncode == 0, done)
    rows = done.stdout.splitlines()[2:]
    expect(len(rows) == 6 and (place / "rate").read_text() == "10mbit", done.stdout)
    # Predicted: 50 ms and the mean of 100 and 300; measured: 50 + 150 + 50.
    expect(rows[4] == "| 10mbit | onebit_adam | 250.0 | 250.0 | +0% |", rows)
    expect((place / "count").read_text() == "12", "measured before and after each of 6 trainings")
    (place / "count").unlink()
    program(place, "kadam-plan", PLAN.replace("0.1 if", "0.3 if"))
    worse = subprocess.run([*command, "--rates", "1gbit", "--within", "20"], capture_output=True, text=True, check=False,
                           timeout=60, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    expect(worse.returncode == 1 and "the worst deviation is 40%" in worse.stderr, worse)
