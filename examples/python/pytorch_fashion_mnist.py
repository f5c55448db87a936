# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a PyTorch network on Fashion-MNIST with Kadam, on all ranks of mpirun or torchrun.

  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/pytorch_fashion_mnist.py
  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/pytorch_fashion_mnist.py --optimizer adam

  PYTHONPATH=build/python torchrun --nproc-per-node 4 examples/python/pytorch_fashion_mnist.py

Needs torch and numpy; mpirun also needs mpi4py. Prints the percentage of held-out images that are right, and the
bytes that a rank sent per step.
"""
import argparse
import gzip
import math
import os
import pathlib

import kadam.torch
import numpy
import torch
from torch import distributed, nn

# As examples/fashion_mnist.toml has them for 800 steps.
OPTIONS = {"adam": {}, "onebit_adam": {"warmup_steps": 200}}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizer", choices=OPTIONS, default="onebit_adam",
                        help="optimizer to train with (default: onebit_adam)")
    parser.add_argument("--steps", type=int, default=800, help="training steps (default: 800)")
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step (default: 32)")
    parser.add_argument("--lr", type=float, default=0.012, help="largest learning rate (default: 0.012)")
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist",
                        help="folder with the four IDX files (default: %(default)s, Debian's dataset-fashion-mnist)")
    parser.add_argument("--checkpoint", type=pathlib.Path,
                        help="folder of checkpoints: go on from the newest, and save one at the end")
    return parser.parse_args()


class Images:
    def __init__(self, folder, part):
        def read(name, header):
            with gzip.open(folder / f"{part}-{name}-ubyte.gz") as stream:
                return torch.from_numpy(numpy.frombuffer(stream.read(), dtype=numpy.uint8, offset=header).copy())
        self.pixels = read("images-idx3", 16).view(-1, 1, 28, 28)
        self.classes = read("labels-idx1", 8)

    def batch(self, chosen):
        return self.pixels[chosen].float() / 255, self.classes[chosen].long()


def make_network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10))


def rate(step, steps):
    """Of a step, as a part of the largest: a linear rise, then half a cosine."""
    rise = min(100, steps // 8)
    return (step + 1) / rise if step < rise else 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))


class Ranks:
    """Those that torchrun has started, else those of MPI: comm is for the optimizer."""

    def __init__(self):
        self.by_torch = "TORCHELASTIC_RUN_ID" in os.environ
        if self.by_torch:
            distributed.init_process_group("gloo")
            self.comm = distributed.group.WORLD
            self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        else:
            from mpi4py import MPI
            self.comm = MPI.COMM_WORLD
            self.rank, self.size = self.comm.rank, self.comm.size

    def sum(self, number):
        if not self.by_torch:
            return self.comm.allreduce(number)
        total = torch.tensor(number)
        distributed.all_reduce(total)
        return int(total)

    def end(self):
        if self.by_torch:
            distributed.destroy_process_group()


def train(network, optimizer, first, images, ranks, arguments):
    for group in optimizer.param_groups:
        group["initial_lr"] = arguments.lr  # what a schedule that does not begin at 0 asks for
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, arguments.steps), first - 1)
    for step in range(first, arguments.steps):
        generator = torch.Generator().manual_seed(step * ranks.size + ranks.rank)
        pixels, classes = images.batch(torch.randint(len(images.classes), (arguments.batch,), generator=generator))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(pixels), classes)
        loss.backward()
        optimizer.step()
        schedule.step()
        result = optimizer.results[0]
        if ranks.rank == 0 and result.step % 100 == 0:
            print(f"step {result.step:5}  {result.phase:10}  loss {loss.item():.4f}", flush=True)
    optimizer.flush()


def right_answers(network, images, ranks):
    """Of all held-out images; each rank looks at its share."""
    mine = torch.arange(ranks.rank, len(images.classes), ranks.size)
    with torch.no_grad():
        right = sum(int((network(pixels).argmax(1) == classes).sum())
                    for pixels, classes in (images.batch(some) for some in mine.split(500)))
    return ranks.sum(right)


def main():
    arguments = parse()
    ranks = Ranks()
    torch.set_num_threads(1)
    torch.manual_seed(ranks.rank)  # the optimizer sends rank 0's parameters to all
    network = make_network()
    optimizer = kadam.torch.Optimizer(network.named_parameters(), arguments.optimizer, ranks.comm, lr=arguments.lr,
                                      weight_decay=0, **OPTIONS[arguments.optimizer])
    first = 0
    if arguments.checkpoint:
        restored = optimizer.load_newest(arguments.checkpoint)
        first = restored.step if restored else 0
    train(network, optimizer, first, Images(arguments.data, "train"), ranks, arguments)
    if arguments.checkpoint:
        optimizer.save(arguments.checkpoint)
    held_out = Images(arguments.data, "t10k")
    right = right_answers(network, held_out, ranks)
    if ranks.rank == 0:
        total = len(held_out.classes)
        print(f"{arguments.optimizer} on {ranks.size} ranks: {100 * right / total:.2f} % of {total} held-out images "
              "are right")
        engine, = optimizer.engines
        sent = engine.sent_bytes / max(1, engine.statistics["steps_taken"] - first)
        print(f"{sent:.0f} B sent per step; the gradient has {4 * engine.elements} B")
    optimizer.close()
    ranks.end()


if __name__ == "__main__":
    main()
