# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of a PyTorch training, on one host. Rank 0 prints a JSON object with the seconds of its steps."""
import argparse
import json
import os
import time
import tomllib

import torch
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import peer_models

ONE_BUCKET_MB = 10_000


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True, help="configuration file of kadam-train")
    parser.add_argument("--data", help="path of the data, in place of that in the configuration")
    parser.add_argument("--exchange", choices=("none", "float32", "bf16", "powersgd"), required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--master", default="127.0.0.1:29500")
    parser.add_argument("--settle", type=int, required=True, help="number of first steps, which are not measured")
    parser.add_argument("--steps", type=int, required=True, help="number of measured steps")
    parser.add_argument("--lr", type=float, default=1e-3)
    return parser.parse_args()


def configuration_of(arguments):
    with open(arguments.config, "rb") as stream:
        configuration = tomllib.load(stream)
    if arguments.data:
        configuration["data"]["path"] = arguments.data
    return configuration


def distributed_model(model, exchange):
    """DDP with float32 gradients, or with a hook that compresses them."""
    if exchange == "powersgd":
        return with_power_sgd(model)
    wrapped = DistributedDataParallel(model)
    if exchange == "bf16":
        wrapped.register_comm_hook(distributed.group.WORLD, default_hooks.bf16_compress_hook)
    return wrapped


def with_power_sgd(model):
    """DDP with PowerSGD in one bucket: with two, gloo meets their collectives in different orders and aborts."""
    wrapped = DistributedDataParallel(model, bucket_cap_mb=ONE_BUCKET_MB)
    state = powerSGD_hook.PowerSGDState(distributed.group.WORLD, matrix_approximation_rank=1, start_powerSGD_iter=2)
    wrapped.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    return wrapped


def step_seconds(model, batches, arguments):
    """Takes steps; returns the seconds of each one after the first `settle`."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr, weight_decay=0, fused=True)
    seconds = []
    for _ in range(arguments.settle + arguments.steps):
        start = time.perf_counter()
        inputs, targets = next(batches)
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds[arguments.settle:]


def main():
    arguments = parse()
    torch.set_num_threads(1)
    model, batches = peer_models.make(configuration_of(arguments), arguments.rank)
    parameters = sum(p.numel() for p in model.parameters())
    if arguments.hosts > 1:
        distributed.init_process_group("gloo", init_method=f"tcp://{arguments.master}", rank=arguments.rank,
                                       world_size=arguments.hosts)
        if arguments.exchange != "none":
            model = distributed_model(model, arguments.exchange)
        distributed.barrier()
    seconds = step_seconds(model, batches, arguments)
    if arguments.rank == 0:
        print(json.dumps({"step_seconds_each": seconds, "parameters": parameters, "torch": torch.__version__}),
              flush=True)
    if arguments.hosts > 1:
        distributed.barrier()
    # Gloo's threads sometimes end a process that takes itself down with a signal.
    os._exit(0)


if __name__ == "__main__":
    main()
