# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records trainings: mpirun -n 2 python torch_recorder_ranks.py FOLDER

Writes recordings FOLDER/<case>, and beside them the gradients that torch.autograd.grad() finds on a copy of the model,
<case>.rank<R>.npy: torch_recorder_test.py compares the two."""
import copy
import json
import os
import pathlib
import sys

import kadam.torch
import numpy as np
import torch
from mpi4py import MPI
from torch import nn

from checks import refuses
from expect import expect

WORLD = MPI.COMM_WORLD
folder = pathlib.Path(sys.argv[1])
torch.set_num_threads(1)


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))


def loss_of(model, step):
    generator = torch.Generator().manual_seed(1000 * step + WORLD.rank)
    inputs, targets = torch.randn(16, 8, generator=generator), torch.randint(3, (16,), generator=generator)
    return nn.functional.cross_entropy(model(inputs.to(next(model.parameters()).dtype)).float(), targets)


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1).float() for tensor in tensors]).numpy()


def gradients_of(model, step, scale=1.0):
    model = copy.deepcopy(model)
    return flat(torch.autograd.grad(scale * loss_of(model, step), list(model.parameters())))


def save(name, rows):
    np.save(folder / f"{name}.rank{WORLD.rank}.npy", np.stack(rows))


def trains_with_ours():
    options = {"lr": 0.01, "weight_decay": 0.1, "warmup_steps": 4}
    (folder / "options.json").write_text(json.dumps(options))
    model = network()
    optimizer = kadam.torch.Optimizer(model.named_parameters(), "onebit_adam", WORLD, **options)
    gradients, parameters = [], []
    recorder = kadam.torch.Recorder(model.named_parameters(), folder / "ours", WORLD)
    for step in range(12):
        gradients.append(gradients_of(model, step))
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        loss_of(model, step).backward()
        recorder.step()
        optimizer.step()
        parameters.append(flat(model.parameters()))
    recorder.close()
    save("ours", gradients)
    save("ours.parameters", parameters)
    refuses(ValueError, "step() was called after close()", recorder.step)


def takes_three_lines():
    """As docs/replay.md has them."""
    os.chdir(folder)
    model, comm, steps = network(), WORLD, 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    recorder = kadam.torch.Recorder(model.named_parameters(), "recording", comm)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        recorder.step()
        optimizer.step()
    recorder.close()


def is_a_ranks_own_under_ddp():
    """Of three backward passes, of which the last one alone averages; the recording ends by itself."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=WORLD.rank,
                                         world_size=WORLD.size)
    for views in False, True:
        model = network()
        ddp = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=views)
        optimizer = torch.optim.AdamW(model.parameters())
        recorder = kadam.torch.Recorder(model.named_parameters(), folder / ("ddp" if views else "ddp_copies"), steps=3)
        gradients = []
        for step in range(0, 15, 3):
            optimizer.zero_grad()
            own = sum(torch.from_numpy(gradients_of(model, step + k)) for k in range(3))
            with ddp.no_sync():
                loss_of(ddp, step).backward()
                loss_of(ddp, step + 1).backward()
            loss_of(ddp, step + 2).backward()
            recorder.step()
            expect(not np.array_equal(flat(p.grad for p in model.parameters()), own.numpy()), "DDP averages nothing")
            nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            optimizer.step()
            gradients.append(own.numpy())
        expect(recorder.steps == 3, "the recording does not end after", recorder.steps)
        save("ddp" if views else "ddp_copies", gradients[:3])
    for rank in (WORLD.rank,):
        pair = [np.load(folder / case / f"gradients.rank{rank}.npy") for case in ("ddp", "ddp_copies")]
        expect(np.array_equal(*pair), "DDP's views of buckets change a recording")
    torch.distributed.destroy_process_group()


def writes_halves_as_they_are():
    model = network().to(torch.bfloat16)
    gradients = []
    with kadam.torch.Recorder(model.named_parameters(), folder / "half", WORLD) as recorder:
        for step in range(3):
            gradients.append(gradients_of(model, step))
            model.zero_grad()
            loss_of(model, step).backward()
            recorder.step()
    save("half", gradients)


def takes_scales_away():
    model, gradients = network(), []
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with kadam.torch.Recorder(model.named_parameters(), folder / "scaled", WORLD) as recorder:
        for step in range(3):
            gradients.append(gradients_of(model, step))
            model.zero_grad()
            scaler.scale(loss_of(model, step)).backward()
            recorder.step(gradient_scale=scaler.get_scale())
        model.zero_grad()
        model[2](torch.ones(1, 16)).sum().backward()
        recorder.step()
    gradients.append(np.concatenate([np.zeros(144, "f4"), flat([model[2].weight.grad, model[2].bias.grad])]))
    save("scaled", gradients)


def may_be_cut_off():
    """After another number of steps on each rank, in the middle of one."""
    model = network()
    recorder = kadam.torch.Recorder(model.named_parameters(), folder / "cut_off", WORLD)
    for step in range(4 + WORLD.rank):
        loss_of(model, step).backward()
        recorder.step()
    recorder._file.write(b"half a step")
    recorder._file.flush()


def mistakes_meet_words():
    model = network()
    refuses(FileExistsError, "choose another folder", kadam.torch.Recorder, model.named_parameters(), folder / "ours", WORLD)
    refuses(TypeError, "model.named_parameters()", kadam.torch.Recorder, model.parameters(), folder / "none", WORLD)
    sparse = nn.Embedding(4, 2, sparse=True)
    recorder = kadam.torch.Recorder(sparse.named_parameters(), folder / "sparse", WORLD)
    refuses(RuntimeError, "parameter 'weight' has a sparse gradient", sparse(torch.tensor([1])).sum().backward)
    recorder.close()
    refuses(ValueError, "no parameter requires a gradient", kadam.torch.Recorder,
            sparse.requires_grad_(False).named_parameters(), folder / "frozen", WORLD)


trains_with_ours()
takes_three_lines()
is_a_ranks_own_under_ddp()
writes_halves_as_they_are()
takes_scales_away()
may_be_cut_off()
WORLD.Barrier()
mistakes_meet_words()
