# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ranks of kadam.torch: those of mpi4py, or of a process group of torch.distributed."""
import os
import socket
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed

from . import Ranks


@dataclass(frozen=True)
class RanksOfGroup(Ranks):
    group: Any = None


def ranks(group: Any = None, host: str = "") -> Ranks:
    """The ranks of a process group of torch.distributed (None: all) as a comm, also for kadam.Optimizer.

    Kadam's messages travel over its own TCP connections; the group only brings the ranks together. host: a name or an
    address at which other ranks reach this one; empty: the address from which this host reaches MASTER_ADDR.
    """
    def gather(own: str) -> list[str]:
        texts: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(texts, own, group)
        return texts
    return RanksOfGroup(distributed.get_rank(group), distributed.get_world_size(group), gather, host or _own_address(), group)


def _own_address() -> str:
    """The address from which this host reaches MASTER_ADDR; empty if that is unknown, or an address of the loopback,
    which other hosts do not reach."""
    master = os.environ.get("MASTER_ADDR", "")
    if master in ("localhost", "127.0.0.1"):
        return "127.0.0.1"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
            nobody.connect((master, 9))  # any port: a datagram socket sends nothing here
            own = nobody.getsockname()[0]
    except OSError:
        return ""
    return "" if own.startswith("127.") else own


def as_comm(comm: Any) -> Any:
    """The communicator for kadam.Optimizer: a process group becomes ranks()."""
    if distributed.is_available() and isinstance(comm, distributed.ProcessGroup):
        return ranks(comm)
    return comm


def broadcast(tensor: torch.Tensor, comm: Any) -> None:
    """Copies rank 0's tensor to all ranks. comm: as as_comm() returns it. Collective."""
    if comm is None or comm.size == 1 or tensor.numel() == 0:
        return
    if isinstance(comm, RanksOfGroup):
        whole = tensor.detach().contiguous()
        group = comm.group or distributed.group.WORLD
        distributed.broadcast(whole, distributed.get_global_rank(group, 0), group)
        tensor.copy_(whole)
        return
    host = tensor.detach().cpu().contiguous()
    data = host.view(-1).view(torch.uint8).numpy()
    for begin in range(0, data.size, 1 << 30):  # MPI counts in an int
        comm.Bcast(data[begin:begin + (1 << 30)])
    tensor.copy_(host)
