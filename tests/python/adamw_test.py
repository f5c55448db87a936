# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dense Adam through Python is AdamW: a loop in float64, and what torch.optim.AdamW did (record_torch_adamw.py). Also
with gradients and models of 16 bits."""
import pathlib

import kadam
import numpy as np

from checks import Declared
from expect import expect

# Of parameters around 1 after 40 steps: beside another program in float32, which rounds at the same places, and beside
# one in float64.
OF_FLOAT32, OF_FLOAT64 = 5e-7, 3e-6


def kadam_trajectory(options, start, gradients):
    optimizer = kadam.Optimizer("adam", {"x": start.shape}, **options)
    x = start.copy()
    points = [start]
    for gradient in gradients:
        optimizer.step(x, gradient)
        points.append(x.copy())
    return np.stack(points)


def adamw(lr, beta1, beta2, eps, weight_decay, start, gradients):
    """Loshchilov and Hutter 2019, algorithm 2, with the learning rate on both terms."""
    x = start.astype(np.float64)
    m, v = np.zeros_like(x), np.zeros_like(x)
    points = [x.copy()]
    for t, g in enumerate(gradients.astype(np.float64), start=1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        x -= lr * (m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + eps) + weight_decay * x)
        points.append(x.copy())
    return np.stack(points)


def is_close(name, got, expected, tolerance):
    worst = np.abs(got - expected).max()
    moved = np.abs(expected[-1] - expected[0]).max()
    print(f"{name}: off by {worst:.1e} at most, of {moved:.2f} moved")
    expect(worst < tolerance and moved > 1e4 * tolerance, name, worst, moved)


def to_bfloat16(values):
    """The bits of float32, rounded to nearest even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def halves_are_halves(options, start, gradients):
    """Steps from rounded gradients are those from the same numbers in float32; a model is the rounded parameters."""
    bits = to_bfloat16(gradients)
    halves = gradients.astype(np.float16)
    model, rounded = np.zeros(start.shape, np.uint16), np.zeros(start.shape, np.float16)
    declared = [Declared(gradient, Declared.BFLOAT) for gradient in bits]
    for word, given, numbers, beside in (
            ("bf16", bits, from_bfloat16(bits), None),
            ("bf16", declared, from_bfloat16(bits), Declared(model, Declared.BFLOAT)),
            ("fp16", halves, halves.astype(np.float32), rounded)):
        optimizer = kadam.Optimizer("adam", {"x": start.shape}, gradients=word, **options)
        x = start.copy()
        for gradient in given:
            optimizer.step(x, gradient, beside)
        expect(np.all(x == kadam_trajectory(options, start, numbers)[-1]), word, "takes other steps")
        if beside is not None:
            expect(np.all(model == to_bfloat16(x)) if word == "bf16" else np.all(rounded == x.astype(np.float16)),
                   "the model is not the rounded parameters,", word)


def main():
    files = sorted((pathlib.Path(__file__).parent / "golden").glob("torch_adamw_*.npz"))
    expect(len(files) == 2, "golden files:", files)
    for path in files:
        with np.load(path) as case:
            options = {name: float(case[name]) for name in ("lr", "beta1", "beta2", "eps", "weight_decay")}
            gradients, expected = case["gradients"], case["parameters"]
        got = kadam_trajectory(options, expected[0], gradients)
        is_close(f"{path.stem}, recorded", got, expected, OF_FLOAT32)
        is_close(f"{path.stem}, in float64", got, adamw(**options, start=expected[0], gradients=gradients),
                 OF_FLOAT64)
        halves_are_halves(options, expected[0], gradients)


if __name__ == "__main__":
    main()
