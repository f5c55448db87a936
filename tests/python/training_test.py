# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains as examples/python/pytorch_fashion_mnist.py does, without PyTorch and its data: mpirun -n 4 python training_test.py

A linear network in NumPy, whose parameters are views of the flat vector: it learns, 1-bit Adam sends less than dense
Adam, ranks hold the same network, and a run that was saved goes on where it was.
"""
import math
import pathlib
import tempfile

import kadam
import numpy as np
from mpi4py import MPI

from expect import expect

WORLD = MPI.COMM_WORLD
CLASSES, PIXELS, BATCH, STEPS = 10, 64, 16, 240
SHAPES = {"weight": (CLASSES, PIXELS), "bias": CLASSES}
OPTIONS = {"adam": {}, "onebit_adam": {"warmup_steps": 60, "block": 128}}
PROTOTYPES = np.random.default_rng(1).normal(0, 1, (CLASSES, PIXELS)).astype(np.float32)


def batch(seed, size):
    """Prototypes of classes, behind noise that is as large."""
    random = np.random.default_rng(seed)
    classes = random.integers(CLASSES, size=size)
    return PROTOTYPES[classes] + random.normal(0, 2, (size, PIXELS)).astype(np.float32), classes


class Network:
    """Parameters and gradients, each in one vector, of which those of the network are views."""

    def __init__(self, elements):
        self.x = np.random.default_rng(2).normal(0, 0.1, elements).astype(np.float32)
        self.gradient = np.zeros(elements, np.float32)
        (self.weight, self.bias), (self.of_weight, self.of_bias) = map(self.parts, (self.x, self.gradient))

    @staticmethod
    def parts(flat):
        return flat[:CLASSES * PIXELS].reshape(CLASSES, PIXELS), flat[CLASSES * PIXELS:]

    def scores(self, pixels):
        return pixels @ self.weight.T + self.bias

    def backward(self, pixels, classes):
        """Writes the gradient of the mean cross-entropy, which it returns."""
        scores = self.scores(pixels)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        loss = -np.log(chances[np.arange(len(classes)), classes]).mean()
        chances[np.arange(len(classes)), classes] -= 1
        self.of_weight[:] = chances.T @ pixels / len(classes)
        self.of_bias[:] = chances.mean(0)
        return loss

    def accuracy(self):
        pixels, classes = batch(3, 2000)
        return (self.scores(pixels).argmax(1) == classes).mean()


def run(name, folder=None, stop=STEPS):
    elements = CLASSES * PIXELS + CLASSES
    network = Network(elements)
    optimizer = kadam.Optimizer(name, SHAPES, WORLD, lr=0.01, lr_schedule="cosine", lr_warmup_steps=20,
                                lr_total_steps=STEPS, **OPTIONS[name])
    expect(optimizer.elements == elements and optimizer.tensors == {"weight": (0, 640), "bias": (640, 650)},
           optimizer.tensors)
    if folder:
        optimizer.load_newest(network.x, folder)
    first = optimizer.statistics["steps_taken"]
    control = optimizer.statistics["sent_control_bytes"]
    losses, phases = [], set()
    for step in range(first, stop):
        losses.append(network.backward(*batch([step, WORLD.rank], BATCH)))
        result = optimizer.step(network.x, network.gradient)
        phases.add(result.phase)
        # Up in 20 steps, then down along a cosine.
        done = (step + 1 - 20) / (STEPS - 20)
        rate = 0.01 * ((step + 1) / 20 if step < 20 else (1 + math.cos(math.pi * done)) / 2)
        expect(abs(result.learning_rate - rate) < 1e-9, "another schedule:", result, rate)
    optimizer.flush(network.x)
    if folder:
        optimizer.save(network.x, folder)
    statistics = optimizer.statistics
    expect(WORLD.bcast(network.x.tobytes()) == network.x.tobytes(), name, "ranks hold other networks")
    sent = WORLD.allreduce(statistics["sent_bytes"] - statistics["sent_control_bytes"])
    expect(statistics["sent_control_bytes"] - control == 16 * (WORLD.size - 1) * (stop - first) or folder, statistics)
    return network, losses, phases, sent / max(1, stop - first)


dense, losses, phases, dense_sent = run("adam")
expect(phases == {"dense"} and dense.accuracy() > 0.8, phases, dense.accuracy())
expect(np.mean(losses[-20:]) < 0.4 * losses[0], "it does not learn:", losses[0], losses[-20:])
network, losses, phases, sent = run("onebit_adam")
expect(phases == {"warm-up", "compressed"}, phases)
expect(network.accuracy() > dense.accuracy() - 0.05, network.accuracy(), dense.accuracy())
# Of all ranks together: n - 1 times the vector there and back; a quarter of the other run is that, the rest 1 bit an
# element with a scale for 128.
expect(dense_sent == 2 * (WORLD.size - 1) * 4 * 650, dense_sent)
expect(WORLD.size == 1 or 0.27 * dense_sent < sent < 0.33 * dense_sent, dense_sent, sent)
with tempfile.TemporaryDirectory() as own:
    folder = pathlib.Path(WORLD.bcast(own))
    run("onebit_adam", folder, STEPS // 2)
    again, _, phases, _ = run("onebit_adam", folder)
    expect(again.x.tobytes() == network.x.tobytes(), "a run in two parts is another run")
    after, losses, _, sent = run("onebit_adam", folder)
    expect(not losses and sent == 0 and after.x.tobytes() == network.x.tobytes(), "there was nothing left to do", sent)
    WORLD.Barrier()
