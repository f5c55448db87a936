# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the Trainer of Hugging Face's transformers with a Kadam optimizer on all ranks of mpirun: a small GPT-2 learns
to continue a text, byte by byte.

  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/hugging_face_trainer.py
  PYTHONPATH=build/python mpirun -n 4 python3 examples/python/hugging_face_trainer.py --optimizer adam --text FILE

Needs transformers, accelerate, torch, numpy and mpi4py. Prints the loss of held-out text in nats per byte, and
the bytes that a rank sent per step.
"""
import argparse
import os
import pathlib
import tempfile

import kadam.torch
import numpy
import torch
from mpi4py import MPI

# Each rank trains as if it were alone; Kadam is what it has in common with the others. With these of mpirun's the
# Trainer would put a DistributedDataParallel around the model, which sends whole gradients.
for name in [name for name in os.environ if name.startswith(("OMPI_COMM_WORLD_", "PMI_", "PMIX_"))]:
    del os.environ[name]

import transformers  # noqa: E402

def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=pathlib.Path, default="~/.cache/kadam/data/bible-kjv.txt",
                        help="any file of a few MB (default: %(default)s, which scripts/setup.sh writes)")
    parser.add_argument("--optimizer", choices=("adam", "onebit_adam"), default="onebit_adam",
                        help="optimizer to train with (default: onebit_adam)")
    for name, default, words in (("width", 96, "width of the residual stream"), ("depth", 2, "number of layers"),
                                 ("heads", 4, "attention heads of a layer"),
                                 ("context", 64, "bytes that a prediction sees"),
                                 ("steps", 600, "training steps"), ("batch", 8, "passages per rank and step")):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{words} (default: {default})")
    parser.add_argument("--lr", type=float, default=0.003, help="largest learning rate (default: 0.003)")
    return parser.parse_args()


class Passages(torch.utils.data.Dataset):
    """A text in pieces of one length; a rank has its own."""

    def __init__(self, text, context, comm):
        count = len(text) // context
        self.pieces = torch.from_numpy(text[:count * context].reshape(count, context)[comm.rank::comm.size].copy())

    def __len__(self):
        return len(self.pieces)

    def __getitem__(self, k):
        piece = self.pieces[k].long()
        return {"input_ids": piece, "labels": piece}


def make_model(arguments):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=256, n_positions=arguments.context, n_embd=arguments.width, n_layer=arguments.depth,
        n_head=arguments.heads, bos_token_id=0, eos_token_id=0))


def make_optimizer(model, arguments, comm):
    """Kadam clips the gradient of all ranks; the Trainer's max_grad_norm sees that of one."""
    warmup = {"warmup_steps": arguments.steps // 4} if arguments.optimizer == "onebit_adam" else {}
    return kadam.torch.Optimizer(model.named_parameters(), arguments.optimizer, comm, lr=arguments.lr, weight_decay=0,
                                 clip_norm=1.0, **warmup)


def make_trainer(model, optimizer, text, folder, arguments, comm):
    schedule = transformers.get_cosine_schedule_with_warmup(optimizer, arguments.steps // 8, arguments.steps)
    settings = transformers.TrainingArguments(
        folder, max_steps=arguments.steps, per_device_train_batch_size=arguments.batch, max_grad_norm=0,
        save_strategy="no", logging_steps=100, report_to=[], disable_tqdm=True, seed=1 + comm.rank, use_cpu=not torch.cuda.is_available(),
        log_level="error" if comm.rank else "passive")
    border = len(text) * 9 // 10
    return transformers.Trainer(
        model, settings, train_dataset=Passages(text[:border], arguments.context, comm),
        eval_dataset=Passages(text[border:border + 512 * arguments.context], arguments.context, comm),
        optimizers=(optimizer, schedule))


def main():
    arguments, comm = parse(), MPI.COMM_WORLD
    torch.set_num_threads(1)
    torch.manual_seed(comm.rank)  # the optimizer sends rank 0's parameters to all
    text = numpy.fromfile(arguments.text.expanduser(), dtype=numpy.uint8)
    model = make_model(arguments)
    optimizer = make_optimizer(model, arguments, comm)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(model, optimizer, text, folder, arguments, comm)
        trainer.train()
        optimizer.flush()
        loss = comm.allreduce(trainer.evaluate()["eval_loss"]) / comm.size
    if comm.rank == 0:
        engine, = optimizer.engines
        print(f"{arguments.optimizer} on {comm.size} ranks: held-out loss {loss:.4f} nats per byte after "
              f"{arguments.steps} steps of {engine.elements} parameters")
        print(f"{engine.sent_bytes / arguments.steps:.0f} B sent per step; the gradient has {4 * engine.elements} B")
    optimizer.close()


if __name__ == "__main__":
    main()
