# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch_test.py checks of Kadam itself, on machines without PyTorch: tensors that have DLPack and no buffer, those
that require a gradient, those of 16 bits, and a network of such tensors that is trained in place."""
import sys
import types

import kadam
import numpy as np

from checks import Declared, refuses
from expect import expect


class Tensor:
    """As torch.Tensor: DLPack alone, and not even that while a gradient is required."""
    __module__ = "torch"

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad, self.grad = array, requires_grad, None

    def __dlpack__(self, **named):
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __len__(self):
        return len(self.array)


def install_stand_in():
    """The module that importers ask for such tensors."""
    torch, utils, dlpack = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.dlpack"))
    torch.Tensor, torch.utils, utils.dlpack = Tensor, utils, dlpack
    dlpack.to_dlpack = lambda tensor: tensor.array.__dlpack__()
    sys.modules |= {module.__name__: module for module in (torch, utils, dlpack)}


def tensors_are_taken_as_arrays():
    start = np.linspace(-1, 1, 33, dtype=np.float32)
    gradient = np.linspace(0.1, 3, 33, dtype=np.float32)
    plain = start.copy()
    kadam.Optimizer("adam", {"x": 33}, lr=0.1).step(plain, gradient)
    for requires_grad in False, True:
        x = Tensor(start.copy(), requires_grad)
        kadam.Optimizer("adam", {"x": 33}, lr=0.1).step(x, Tensor(gradient))
        expect(x.array.tobytes() == plain.tobytes() and np.all(x.array < start), "other steps", requires_grad)


def a_network_is_trained_in_place():
    """Linear(5, 3) on three classes; its parameters are views of the flat vector."""
    random = np.random.default_rng(0)
    x = random.uniform(-0.4, 0.4, 18).astype(np.float32)
    gradient = np.zeros(18, np.float32)
    optimizer = kadam.Optimizer("adam", {"weight": (3, 5), "bias": (3,)}, lr=0.1)
    (weight, of_weight), (bias, of_bias) = (
        tuple(flat[first:last].reshape(shape) for flat in (x, gradient))
        for (first, last), shape in zip(optimizer.tensors.values(), ((3, 5), (3,))))
    inputs, targets = random.normal(size=(40, 5)).astype(np.float32), random.integers(3, size=40)

    def loss_and_gradient():
        scores = inputs @ weight.T + bias
        chances = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        loss = -np.log(chances[np.arange(40), targets]).mean()
        chances[np.arange(40), targets] -= 1
        of_weight[:], of_bias[:] = chances.T @ inputs / 40, chances.mean(0)
        return loss

    before = loss_and_gradient()
    for _ in range(60):
        optimizer.step(Tensor(x, requires_grad=True), Tensor(gradient))
        after = loss_and_gradient()
    expect(after < 0.9 * before, "the loss went from", before, "to", after)


def halves_are_halves():
    gradient = np.linspace(0.1, 3, 33, dtype=np.float32)
    bits = (gradient.view(np.uint32) >> 16).astype(np.uint16)  # cut: some number near it
    for word, half in ("bf16", Declared(bits, Declared.BFLOAT)), ("fp16", Tensor(gradient.astype(np.float16))):
        x, model = np.linspace(-1, 1, 33, dtype=np.float32), np.zeros(33, np.float16)
        kadam.Optimizer("adam", {"x": 33}, lr=0.1, gradients=word).step(Tensor(x), half, Tensor(model))
        expect(np.all(model == x.astype(np.float16)) and x[0] < -1, word, "model is not the rounded parameters")
        if word == "bf16":
            again = np.linspace(-1, 1, 33, dtype=np.float32)
            kadam.Optimizer("adam", {"x": 33}, lr=0.1, gradients=word).step(again, bits)
            expect(again.tobytes() == x.tobytes(), "bits of bfloat16 are another gradient")


def mistakes_meet_words():
    optimizer = kadam.Optimizer("adam", {"x": 4})
    leaf, gradient = Tensor(np.zeros(4, np.float32), requires_grad=True), np.ones(4, np.float32)
    refuses(TypeError, "gradient: expected an array of NumPy, PyTorch", optimizer.step, leaf, leaf.grad)
    half = Declared(np.ones(4, np.uint16), Declared.BFLOAT)
    refuses(ValueError, "gradient is bfloat16, expected float32", optimizer.step, leaf, half)
    refuses(ValueError, "x is not contiguous", optimizer.step, Tensor(np.zeros(8, np.float32)[::2]), gradient)
    expect(np.all(leaf.array == 0) and optimizer.statistics["steps_taken"] == 0, "a refused step changed something")
    optimizer.step(leaf, gradient)
    expect(np.all(leaf.array < 0), "a tensor that requires a gradient was not written")


expect("torch" not in sys.modules, "the stand-in would hide PyTorch")
install_stand_in()
for test in tensors_are_taken_as_arrays, a_network_is_trained_in_place, halves_are_halves, mistakes_meet_words:
    test()
