# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a GPT with Kadam on all ranks of mpirun: it learns to continue a text, byte by byte.

  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/gpt_on_text.py
  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/gpt_on_text.py --optimizer local_muon \\
    --set sync_interval=8 --lr 0.012 --width 256 --depth 6 --heads 8 --text FILE

Needs torch, numpy and mpi4py. Prints the loss of held-out text in nats per byte, and the bytes that a rank
sent per step.
"""
import argparse
import ast
import math
import pathlib

import kadam.torch
import numpy
import torch
from mpi4py import MPI
from torch import nn
from torch.nn import functional

VOCABULARY = 256  # bytes


def option(text):
    """NAME=VALUE: a number where the value is one, else the word."""
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, default="~/.cache/kadam/data/bible-kjv.txt",
                        help="any file of a few MB (default: %(default)s, which scripts/setup.sh writes)")
    parser.add_argument("--optimizer", choices=kadam.optimizers(), default="onebit_adam",
                        help="optimizer to train with (default: onebit_adam)")
    parser.add_argument("--set", type=option, action="append", default=[], metavar="NAME=VALUE",
                        help="set an option of the optimizer; the warm-up is a quarter of the run unless you set it")
    for name, default, words in (("width", 96, "width of the residual stream"), ("depth", 2, "number of layers"),
                                 ("heads", 4, "attention heads of a layer"),
                                 ("context", 64, "bytes that a prediction sees"),
                                 ("steps", 600, "training steps"), ("batch", 8, "passages per rank and step")):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{words} (default: {default})")
    parser.add_argument("--lr", type=float, default=0.003, help="largest learning rate (default: 0.003)")
    return parser.parse_args()


class Block(nn.Module):
    """Causal attention and a perceptron, each behind a normalisation and beside a way past."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.query_key_value = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.query_key_value(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norms[0](x))
        return x + self.perceptron(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, width, depth, heads, context):
        super().__init__()
        self.bytes = nn.Embedding(VOCABULARY, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.bytes.weight
        nn.init.normal_(self.bytes.weight, std=0.02)

    def forward(self, text):
        x = self.bytes(text) + self.places.weight[:text.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class Text:
    """Nine tenths to learn, the rest to test."""

    def __init__(self, path, context):
        whole = torch.from_numpy(numpy.fromfile(path.expanduser(), dtype=numpy.uint8))
        self.context = context
        self.learnt, self.held_out = whole.tensor_split([len(whole) * 9 // 10])

    def passages(self, text, begins):
        """Bytes, and for each the one that follows."""
        cut = text[begins[:, None] + torch.arange(self.context + 1)].long()
        return cut[:, :-1], cut[:, 1:]

    def batch(self, size, seed):
        generator = torch.Generator().manual_seed(seed)
        return self.passages(self.learnt, torch.randint(len(self.learnt) - self.context, (size,), generator=generator))


def loss_of(network, passages):
    text, following = passages
    return functional.cross_entropy(network(text).flatten(0, 1), following.flatten())


def rate(step, steps):
    """Of a step, as a part of the largest: a linear rise, then half a cosine."""
    rise = max(1, min(100, steps // 8))
    return (step + 1) / rise if step < rise else 0.5 * (1 + math.cos(math.pi * (step - rise) / (steps - rise)))


def train(network, optimizer, text, arguments, comm):
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(step, arguments.steps))
    for step in range(arguments.steps):
        optimizer.zero_grad()
        loss = loss_of(network, text.batch(arguments.batch, step * comm.size + comm.rank))
        loss.backward()
        optimizer.step()
        schedule.step()
        result = optimizer.results[0]
        if comm.rank == 0 and result.step % 100 == 0:
            print(f"step {result.step:5}  {result.phase:10}  loss {loss.item():.4f}", flush=True)
    optimizer.flush()


@torch.no_grad()
def held_out_loss(network, text, comm, passages=512):
    """Of passages that lie evenly in the held-out text; each rank looks at its share."""
    begins = torch.linspace(0, len(text.held_out) - text.context - 1, passages).long()[comm.rank::comm.size]
    total = sum(loss_of(network, text.passages(text.held_out, some)).item() * len(some) for some in begins.split(64))
    return comm.allreduce(total) / passages


def options_of(arguments):
    """What was set; for an algorithm with a warm-up of so many steps a quarter of the run."""
    warmup = {"warmup_steps": arguments.steps // 4} if "warmup_steps" in kadam.options(arguments.optimizer) else {}
    return warmup | dict(arguments.set)


def main():
    arguments, comm = parse(), MPI.COMM_WORLD
    torch.set_num_threads(1)
    torch.manual_seed(comm.rank)  # the optimizer sends rank 0's parameters to all
    network = Gpt(arguments.width, arguments.depth, arguments.heads, arguments.context)
    optimizer = kadam.torch.Optimizer(network.named_parameters(), arguments.optimizer, comm, lr=arguments.lr,
                                      weight_decay=0, **options_of(arguments))
    text = Text(arguments.text, arguments.context)
    train(network, optimizer, text, arguments, comm)
    loss = held_out_loss(network, text, comm)
    if comm.rank == 0:
        engine, = optimizer.engines
        print(f"{arguments.optimizer} on {comm.size} ranks: held-out loss {loss:.4f} nats per byte after "
              f"{arguments.steps} steps of {engine.elements} parameters")
        print(f"{engine.sent_bytes / arguments.steps:.0f} B sent per step; the gradient has {4 * engine.elements} B")
    optimizer.close()


if __name__ == "__main__":
    main()
