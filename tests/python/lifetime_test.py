# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How optimizers, Kokkos and MPI end in programs of Python's: lifetime_test.py [LAUNCHER...]"""
import subprocess
import sys

from expect import expect

COMMON = """
import numpy as np
import kadam
x, g = np.ones(100, np.float32), np.ones(100, np.float32)
def make(comm=None, name="adam"):
    return kadam.Optimizer(name, {"x": 100}, comm, lr=0.1)
"""

# Each prints nothing but ok, ends with exit code 0, and has not a word on standard error.
ALONE = {
    "imported, not used": COMMON + "print('ok')",
    "alive at the end": COMMON + "kept = make(); kept.step(x, g); print('ok')",
    "closed": COMMON + "one = make(); one.step(x, g); one.close(); print('ok')",
    "in a cycle that nobody collects": COMMON + """
class Owner: pass
owner = Owner(); owner.itself = owner; owner.optimizer = make(); owner.optimizer.step(x, g); print('ok')
""",
    "with a thread of its own": COMMON + "kept = make(None, 'divisible_adam'); kept.step(x, g); print('ok')",
    # What is registered first is called last: after Kadam's own end.
    "used after the end": """
import atexit
def late():
    for call, words in (lambda: kept.step(x, g), "this optimizer is closed"), (make, "Kokkos has ended"):
        try: call()
        except RuntimeError as error: print('ok' if words in str(error) else error)
atexit.register(late)
""" + COMMON + "kept = make()",
}
ON_RANKS = {
    "alive when MPI ends": COMMON + "from mpi4py import MPI\nkept = make(MPI.COMM_WORLD); kept.step(x, g); print('ok')",
    "MPI ended before": COMMON + """
from mpi4py import MPI
kept = make(MPI.COMM_WORLD); kept.step(x, g); MPI.Finalize(); print('ok')
""",
    "MPI has not begun": COMMON + """
import mpi4py; mpi4py.rc.initialize = False
from mpi4py import MPI
try: make(MPI.COMM_WORLD)
except ValueError as error: print('ok' if "Kadam's MPI library is not initialised" in str(error) else error)
""",
}


def run(what, program, launcher, times):
    done = subprocess.run([*launcher, sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          timeout=50)
    # Lines of two ranks may mix.
    words = "".join(done.stdout.split())
    expect(done.returncode == 0 and words == "ok" * times and not done.stderr, what, done)


for what, program in ALONE.items():
    run(what, program, [], 2 if what == "used after the end" else 1)
if len(sys.argv) > 1:
    for what, program in ON_RANKS.items():
        run(what, program, [*sys.argv[1:], "2"], 2)
