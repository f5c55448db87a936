# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch network on Fashion-MNIST, trained by Kadam on all ranks of mpirun.

  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/pytorch_fashion_mnist.py
  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/pytorch_fashion_mnist.py --optimizer adam

Needs torch, numpy and mpi4py. Says how many held-out images are right, and how many bytes a rank sent per step.
"""
import argparse
import gzip
import pathlib

import kadam
import numpy
import torch
from mpi4py import MPI
from torch import nn

# As examples/fashion_mnist.toml has them for 800 steps.
OPTIONS = {"adam": {}, "onebit_adam": {"warmup_steps": 200}}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizer", choices=OPTIONS, default="onebit_adam", help="default: onebit_adam")
    parser.add_argument("--steps", type=int, default=800, help="default: 800")
    parser.add_argument("--batch", type=int, default=32, help="images per rank and step (default: 32)")
    parser.add_argument("--lr", type=float, default=0.012, help="largest learning rate (default: 0.012)")
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist",
                        help="folder of the four files (default: %(default)s, Debian's dataset-fashion-mnist)")
    parser.add_argument("--checkpoint", type=pathlib.Path, help="go on from the newest here, and save at the end")
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
    torch.manual_seed(1)  # the same parameters on all ranks
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10))


def flat_vectors(network):
    """Parameters and gradients, each in one vector, of which those of the network become views: nothing is copied."""
    x = torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()])
    gradient = torch.zeros_like(x)
    begin = 0
    for parameter in network.parameters():
        end = begin + parameter.numel()
        parameter.data = x[begin:end].view_as(parameter)
        parameter.grad = gradient[begin:end].view_as(parameter)
        begin = end
    return x, gradient


def train(network, optimizer, x, gradient, images, arguments):
    for step in range(optimizer.statistics["steps_taken"], arguments.steps):
        generator = torch.Generator().manual_seed(step * optimizer.size + optimizer.rank)
        pixels, classes = images.batch(torch.randint(len(images.classes), (arguments.batch,), generator=generator))
        gradient.zero_()
        loss = nn.functional.cross_entropy(network(pixels), classes)
        loss.backward()
        result = optimizer.step(x, gradient)
        if optimizer.rank == 0 and result.step % 100 == 0:
            print(f"step {result.step:5}  {result.phase:10}  loss {loss.item():.4f}", flush=True)
    optimizer.flush(x)


def right_answers(network, images, comm):
    """Of all held-out images; each rank looks at its share."""
    mine = torch.arange(comm.rank, len(images.classes), comm.size)
    with torch.no_grad():
        right = sum(int((network(pixels).argmax(1) == classes).sum())
                    for pixels, classes in (images.batch(some) for some in mine.split(500)))
    return comm.allreduce(right)


def main():
    arguments = parse()
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    network = make_network()
    x, gradient = flat_vectors(network)
    tensors = {name: parameter.shape for name, parameter in network.named_parameters()}
    optimizer = kadam.Optimizer(arguments.optimizer, tensors, comm, lr=arguments.lr, lr_schedule="cosine",
                                lr_warmup_steps=min(100, arguments.steps // 8), lr_total_steps=arguments.steps,
                                **OPTIONS[arguments.optimizer])
    if arguments.checkpoint:
        optimizer.load_newest(x, arguments.checkpoint)
    first = optimizer.statistics["steps_taken"]
    train(network, optimizer, x, gradient, Images(arguments.data, "train"), arguments)
    if arguments.checkpoint:
        optimizer.save(x, arguments.checkpoint)
    held_out = Images(arguments.data, "t10k")
    right = right_answers(network, held_out, comm)
    if comm.rank == 0:
        total = len(held_out.classes)
        print(f"{arguments.optimizer} on {comm.size} ranks: {100 * right / total:.2f} % of {total} held-out images "
              "are right")
        sent = optimizer.sent_bytes / max(1, optimizer.statistics["steps_taken"] - first)
        print(f"{sent:.0f} B sent per step, of {4 * len(x)} B of a gradient")
    optimizer.close()


if __name__ == "__main__":
    main()
