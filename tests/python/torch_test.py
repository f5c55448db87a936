# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch, beside the torch.optim.AdamW that is installed. Skipped, in words, where none is."""
import sys

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed (scripts/bench_peers.sh makes an environment that has it)")
    sys.exit(77)
import kadam
import numpy as np

import record_torch_adamw
from adamw_test import OF_FLOAT32, is_close, kadam_trajectory
from checks import refuses
from expect import expect


def steps_are_torchs():
    for seed, (name, options) in enumerate(record_torch_adamw.CASES.items(), start=10):
        start, gradients = record_torch_adamw.start_and_gradients(seed)
        expected = record_torch_adamw.torch_trajectory(options, start, gradients)
        is_close(f"{name}, torch {torch.__version__}", kadam_trajectory(options, start, gradients), expected,
                 OF_FLOAT32)


def a_network_is_trained_in_place():
    torch.manual_seed(0)
    network = torch.nn.Linear(5, 3)
    x = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
    optimizer = kadam.Optimizer("adam", {n: p.shape for n, p in network.named_parameters()}, lr=0.1)
    for (first, last), parameter in zip(optimizer.tensors.values(), network.parameters()):
        parameter.data = x[first:last].view(parameter.shape)
    inputs, targets = torch.randn(40, 5), torch.randint(3, (40,))

    def loss_and_gradient():
        network.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(inputs), targets)
        loss.backward()
        return loss.item(), torch.cat([p.grad.reshape(-1) for p in network.parameters()])

    before, gradient = loss_and_gradient()
    for _ in range(60):
        optimizer.step(x, gradient)
        after, gradient = loss_and_gradient()
    expect(after < 0.9 * before, "the loss went from", before, "to", after)


def halves_are_halves():
    x = torch.linspace(-1, 1, 33)
    gradient = torch.linspace(0.1, 3, 33)
    for word, format_ in ("bf16", torch.bfloat16), ("fp16", torch.float16):
        optimizer = kadam.Optimizer("adam", {"x": 33}, lr=0.1, gradients=word)
        model = torch.zeros(33, dtype=format_)
        half = gradient.to(format_)
        optimizer.step(x, half, model)
        expect(torch.equal(model, x.to(format_)), word, "model is not the rounded parameters")
        # NumPy has no bfloat16: its bits are the same gradient.
        if word == "bf16":
            again, other = torch.linspace(-1, 1, 33), kadam.Optimizer("adam", {"x": 33}, lr=0.1, gradients=word)
            other.step(again, half.view(torch.uint16).numpy())
            expect(torch.equal(again, x), "bits of bfloat16 are another gradient")


def mistakes_meet_words():
    optimizer = kadam.Optimizer("adam", {"x": 4})
    leaf, gradient = torch.nn.Parameter(torch.zeros(4)), torch.ones(4)
    refuses(TypeError, "gradient: expected an array of NumPy, PyTorch", optimizer.step, leaf, leaf.grad)
    refuses(ValueError, "gradient is bfloat16, expected float32", optimizer.step, leaf, gradient.bfloat16())
    refuses(ValueError, "x is not contiguous", optimizer.step, torch.zeros(8)[::2], gradient)
    optimizer.step(leaf, gradient)
    expect(np.all(leaf.detach().numpy() < 0), "a tensor that requires a gradient was not written")


for test in steps_are_torchs, a_network_is_trained_in_place, halves_are_halves, mistakes_meet_words:
    test()
