# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-doctor on 1 and 4 ranks: program_test.py KADAM_DOCTOR LAUNCHER..."""
import ctypes
import re
import subprocess
import sys

from expect import expect
from program import Program

program = Program(sys.argv[1:])


def told(done):
    """The lines that have a name, by it."""
    return {line[:32].strip(): line[32:] for line in done.stdout.splitlines() if len(line) > 32}


for ranks in 1, 4:
    done = program.start(ranks)
    expect(done.returncode == 0 and not done.stderr, done)
    lines = told(done)
    expect(lines["ranks"] == f"{ranks} on 1 node", done.stdout)
    expect(lines["threads of a rank"] == "1", done.stdout)
    expect(lines["self-test"].startswith("passed: parameters bitwise equal"), done.stdout)
    expect("dense adam is probably" in done.stdout if ranks > 1 else "one rank" in done.stdout, done.stdout)
# 1 bit of 32, and scales: 2 (n - 1)/n of 10^6/8 B.
expect("190.5 kB sent per step (adam:" in done.stdout, done.stdout)

staged = program.start(2, environment={"KADAM_GPU_AWARE": "off"})
expect(told(staged)["messages through host memory"] == "yes", staged)
survives = "others survive a failed rank"
by_tcp = program.start(2, environment={"KADAM_WIRE": "tcp"})
expect(told(by_tcp)[survives] == "yes" and "TCP, 2 ranks" in by_tcp.stdout, by_tcp)
expect(told(staged)[survives].split(":")[0] in ("yes", "no"), staged)
crowded = program.start(2, environment={"OMP_NUM_THREADS": "3"})
expect("they wait for each other" in crowded.stdout, crowded)
# Threads of OpenBLAS' own beside OpenMP's that wait busily: 1 is what OpenBLAS calls these.
libraries = subprocess.run(["ldd", sys.argv[1]], capture_output=True, text=True, check=True).stdout
openblas = re.search(r"=> (\S*libopenblas\S*)", libraries)
has_own_threads = openblas is not None and ctypes.CDLL(openblas[1]).openblas_get_parallel() == 1
two_threads = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
for policy in "active", "passive":
    done = program.start(1, environment=two_threads | {"OMP_WAIT_POLICY": policy})
    competes = has_own_threads and told(done)["threads of a rank"] == "2" and policy == "active"
    expect(("OpenBLAS has threads of its own" in done.stdout) == competes, done)
help_text = program.start(1, "--help")
expect(help_text.returncode == 0 and "mpirun -n RANKS kadam-doctor" in help_text.stdout, help_text)
# Every name once, in words and as JSON; kinds as they are.
listed = [line.split()[0] for line in program.run(2, "--optimizers").splitlines()]
expect(listed == list(program.known) and len(listed) == len(set(listed)), listed)
adam, frozen = program.known["adam"], program.known["onebit_adam"]
expect(adam["dense"] and not adam["warmup"] and adam["codes"] == [], adam)
expect(frozen["needs_warmup"] and frozen["warmup"] == "warmup_steps" and frozen["codes"] == ["sign"], frozen)
defaults = {option["name"]: option["default"] for option in frozen["options"]}
expect(defaults["beta2"] == 0.999 and defaults["block"] == 2048 and defaults["scale"] == "rms", defaults)
alone = program.start(1, "--json")
expect(alone.returncode == 2 and "--optimizers" in alone.stderr, alone)
refused = program.start(1, "--nonsense")
expect(refused.returncode == 2 and "--nonsense" in refused.stderr, refused)
