# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models and data of kadam-train in PyTorch: the same shapes, the same number of parameters."""
import gzip
import pathlib

import numpy
import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Pre-norm transformer block, causal."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_projection = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        examples, positions, width = x.shape
        per_head = (examples, positions, self.heads, width // self.heads)
        q, k, v = (part.view(per_head).transpose(1, 2)
                   for part in self.query_key_value(self.attention_norm(x)).chunk(3, dim=2))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attention_projection(attended.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Module):
    """Transformer over bytes; the output projection is not tied to the embedding."""

    def __init__(self, width, depth, heads, context):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, 256)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])
        return self.output(self.norm(self.blocks(self.tokens(tokens) + self.positions(places)))).transpose(1, 2)


class Cnn(nn.Module):
    """Two convolutions and a dense layer, for 28 x 28 pixels."""

    def __init__(self, first, second):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(49 * second, 10))

    def forward(self, pixels):
        return self.layers(pixels)


def text_batches(path, context, batch, seed):
    """Endless batches: (bytes, the byte after each)."""
    text = torch.from_numpy(numpy.fromfile(pathlib.Path(path).expanduser(), dtype=numpy.uint8).astype(numpy.int64))
    generator = torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(len(text) - context - 1, (batch,), generator=generator)
        windows = torch.stack([text[start:start + context + 1] for start in starts])
        yield windows[:, :-1], windows[:, 1:]


def read_idx(path, header):
    with gzip.open(path) as stream:
        return torch.from_numpy(numpy.frombuffer(stream.read(), dtype=numpy.uint8, offset=header).copy())


def image_batches(path, batch, seed):
    """Endless batches: (images, classes)."""
    folder = pathlib.Path(path or "/usr/share/datasets/fashion-mnist")
    images = read_idx(folder / "train-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28).float() / 255
    classes = read_idx(folder / "train-labels-idx1-ubyte.gz", 8).long()
    generator = torch.Generator().manual_seed(seed)
    while True:
        chosen = torch.randint(len(images), (batch,), generator=generator)
        yield images[chosen], classes[chosen]


def make(configuration, seed):
    """The model and the batches that a configuration of kadam-train describes."""
    data, model, batch = configuration["data"], configuration["model"], configuration["training"]["batch"]
    torch.manual_seed(1)
    if model["kind"] == "cnn":
        return Cnn(model["first_channels"], model["second_channels"]), image_batches(data.get("path"), batch, seed)
    transformer = Transformer(model["width"], model["depth"], model["heads"], data["context"])
    return transformer, text_batches(data["path"], data["context"], batch, seed)
