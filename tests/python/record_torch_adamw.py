# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what torch.optim.AdamW does, for tests on machines without PyTorch: record_torch_adamw.py

Writes golden/*.npz: options, gradients [step][element] and parameters [step][element], those before the first step
in front. Needs PyTorch; scripts/bench_peers.sh makes an environment that has it.
"""
import pathlib

import numpy as np

CASES = {
    "plain": {"lr": 1e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0},
    # An eps of the size of small gradients: where it stands in the formula is seen.
    "decay": {"lr": 3e-3, "beta1": 0.8, "beta2": 0.95, "eps": 1e-4, "weight_decay": 0.1},
}
STEPS, ELEMENTS = 40, 97


def start_and_gradients(seed):
    """Parameters around 1; gradients whose sizes differ by six orders of magnitude between elements."""
    random = np.random.default_rng(seed)
    start = random.normal(1, 0.3, ELEMENTS).astype(np.float32)
    sizes = np.logspace(-6, 0, ELEMENTS)
    return start, (random.normal(0.3, 1, (STEPS, ELEMENTS)) * sizes).astype(np.float32)


def torch_trajectory(options, start, gradients):
    """Parameters after each step of torch.optim.AdamW, the first ones in front."""
    import torch
    x = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = torch.optim.AdamW([x], lr=options["lr"], betas=(options["beta1"], options["beta2"]),
                                  eps=options["eps"], weight_decay=options["weight_decay"])
    points = [start]
    for gradient in gradients:
        x.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        points.append(x.detach().numpy().copy())
    return np.stack(points)


def main():
    folder = pathlib.Path(__file__).parent / "golden"
    for seed, (name, options) in enumerate(CASES.items()):
        start, gradients = start_and_gradients(seed)
        np.savez_compressed(folder / f"torch_adamw_{name}.npz", gradients=gradients,
                            parameters=torch_trajectory(options, start, gradients), **options)


if __name__ == "__main__":
    main()
