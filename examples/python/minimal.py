# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The smallest training from Python: PYTHONPATH=build/python mpirun -n 4 python3 examples/python/minimal.py

Each rank pulls x towards its own number; together they end at the mean.
"""
import sys

import kadam
import numpy
from mpi4py import MPI


# [readme]
def minimise(comm, x, target):
    optimizer = kadam.Optimizer("onebit_adam", {"weights": x.size}, comm, lr=0.01, warmup_steps=100)
    for _ in range(1000):
        optimizer.step(x, x - target)
    optimizer.close()
# [readme]


def main():
    comm = MPI.COMM_WORLD
    x = numpy.zeros(1000, numpy.float32)
    minimise(comm, x, numpy.float32(comm.rank))
    mean = 0.5 * (comm.size - 1)
    if comm.rank == 0:
        print(f"x = {x[0]:.4f}, expected {mean:.4f}")
    sys.exit(0 if abs(x - mean).max() < 0.05 else 1)


if __name__ == "__main__":
    main()
