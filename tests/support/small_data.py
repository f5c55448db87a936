# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small data sets that can be learnt, and the configurations that learn them."""
import pathlib
import struct

import numpy as np

CLASSES = 4
SIDE = 8


def idx_file(path, array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    pathlib.Path(path).write_bytes(header + array.astype(np.uint8).tobytes())


def write_images(folder, training=256, held_out=64, mislabelled=0.0):
    """Class k has one bright quarter in a noisy image. mislabelled: the part that has a label by chance."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    random = np.random.default_rng(7)
    for prefix, examples in (("train", training), ("t10k", held_out)):
        labels = np.arange(examples) % CLASSES
        images = random.integers(0, 96, (examples, SIDE, SIDE))
        half = SIDE // 2
        for image, label in zip(images, labels):
            row, column = half * (label // 2), half * (label % 2)
            image[row : row + half, column : column + half] += 100
        if mislabelled > 0:
            by_chance = random.random(examples) < mislabelled
            labels = np.where(by_chance, random.integers(0, CLASSES, examples), labels)
        idx_file(folder / f"{prefix}-images-idx3-ubyte", images)
        idx_file(folder / f"{prefix}-labels-idx1-ubyte", labels)
    return folder


def write_text(path, sentences=400):
    """Sentences of a few words in a fixed order of kinds."""
    random = np.random.default_rng(7)
    kinds = (["a dog", "the cat", "one bird"], ["sees", "likes", "hears"], ["the sea.", "a hill.", "the wind."])
    text = " ".join(kind[random.integers(3)] for _ in range(sentences) for kind in kinds)
    pathlib.Path(path).write_text(text)
    return path


def images_toml(folder, steps=40, batch=8, log_every=7, evaluate_every=20):
    return f"""
[data]
kind = "idx"
path = "{folder}"
[model]
kind = "mlp"
hidden = [16]
[training]
steps = {steps}
batch = {batch}
log_every = {log_every}
evaluate_every = {evaluate_every}
[optimizer]
lr = 0.01
[optimizer.onebit_adam]
warmup_steps = 15
block = 128
"""


def text_toml(path, steps=30):
    return f"""
[data]
kind = "text"
path = "{path}"
context = 16
[model]
kind = "transformer"
width = 16
depth = 1
heads = 2
[training]
steps = {steps}
batch = 4
[optimizer]
lr = 0.01
"""


# layers.0 and layers.1 of the MLP above.
IMAGE_TENSORS = {
    "layers.0.weight": SIDE * SIDE * 16,
    "layers.0.bias": 16,
    "layers.1.weight": 16 * CLASSES,
    "layers.1.bias": CLASSES,
}
