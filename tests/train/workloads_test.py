# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vision transformers, masked text and unequal shards, trained: workloads_test.py RANKS KADAM_TRAIN LAUNCHER..."""
import pathlib
import sys
import tempfile

import small_data
from expect import expect
from program import Program, metrics, parameters

ranks, program = int(sys.argv[1]), Program(sys.argv[2:])


def train(name, config, assignments):
    """The last evaluation and the lines of training."""
    options = [word for assignment in assignments for word in ("--set", assignment)]
    program.run(ranks, "--config", folder / config, *options, "--run", folder / name)
    lines, held_out = metrics(folder / name)
    expect(lines[-1]["loss"] < 0.9 * lines[0]["loss"], name, "has not learnt:", lines[0], lines[-1])
    return held_out[-1], [line["loss"] for line in lines]


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "images.toml").write_text(small_data.images_toml(data))
    small_data.write_text(folder / "words.txt")
    (folder / "text.toml").write_text(small_data.text_toml(folder / "words.txt", steps=60))
    vit = ["model.kind=vit", "model.patch=4", "model.width=16", "model.depth=1"]

    final, _ = train("vit", "images.toml", vit)
    expect(final["held_out_predictions"] == 64 and final["held_out_accuracy"] > 0.9, final)
    expect(parameters(folder / "vit")["position_embedding.weight"].size == 4 * 16, "positions")

    final, _ = train("segment", "images.toml", [*vit, "data.task=segment"])
    expect(final["held_out_predictions"] == 64 * 4 and final["held_out_accuracy"] > 0.9, final)
    expect(parameters(folder / "segment")["output.bias"].size == 1 + small_data.CLASSES, "classes")

    masked = ["data.objective=masked", "data.mask_fraction=0.25"]
    final, losses = train("masked", "text.toml", masked)
    expect(final["held_out_predictions"] % 4 == 0, final)  # 4 of 16 bytes
    expect(parameters(folder / "masked")["token_embedding.weight"].size == 257 * 16, "a token for the mask")
    again, same = train("again", "text.toml", masked)
    expect(again == final and same == losses, "the same run again has other losses", losses, same)

    _, equal = train("equal", "images.toml", [])
    _, unequal = train("unequal", "images.toml", ["data.dirichlet_alpha=0.5"])
    expect(ranks == 1 or equal != unequal, "shards change nothing")
    train("from_file", "unequal/config.toml", [])
    files = [(folder / run / "parameters.safetensors").read_bytes() for run in ("unequal", "from_file")]
    expect(files[0] == files[1], "config.toml does not make the same run")
