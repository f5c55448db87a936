# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adam optimizers for data-parallel training over MPI that send a fraction of a gradient.

Optimizer works on flat arrays; kadam.torch.Optimizer takes the place of a torch.optim.Optimizer. docs/embedding.md
shows both at work.
"""
import dataclasses
from collections.abc import Callable

from ._kadam import (Optimizer, PeerFailure, Restored, RestoredSnapshot, SnapshotLost, StepResult, __version__,
                     execution_space, optimizers, options)



@dataclasses.dataclass(frozen=True)
class Ranks:
    """Ranks that have no MPI, as a comm: they connect by TCP.

    gather(text): returns the texts of all ranks, in their order; all ranks call it together, once. host: a name or an
    address at which other ranks reach this one; empty: the host's only address, or its name. kadam.torch.ranks() makes
    Ranks from torch.distributed.
    """
    rank: int
    size: int
    gather: Callable[[str], list[str]]
    host: str = ""


__all__ = ["Optimizer", "PeerFailure", "Ranks", "Restored", "RestoredSnapshot", "SnapshotLost", "StepResult",
           "__version__", "execution_space", "optimizers", "options"]
