# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records the gradients of a training for kadam-replay. docs/replay.md"""
from __future__ import annotations

import functools
import json
import os
import pathlib
from collections.abc import Iterable
from typing import Any, BinaryIO

import torch


def _npy_header(*shape: int) -> bytes:
    """Of float32 in NumPy's format 1.0; 128 bytes for every shape, so that it can be written over."""
    extents = "".join(f"{extent}, " for extent in shape)
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({extents}), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"


def _place(comm: Any) -> tuple[int, int]:
    """Rank and number of ranks of a communicator of mpi4py or a process group of torch.distributed; None: of the default
    one, if there is one."""
    if comm is None:
        distributed = torch.distributed
        if not (distributed.is_available() and distributed.is_initialized()):
            return 0, 1
        return distributed.get_rank(), distributed.get_world_size()
    return (comm.rank(), comm.size()) if callable(comm.rank) else (comm.rank, comm.size)


class Recorder:
    """Records gradients for kadam-replay: those of each rank's own batches, step by step.

        recorder = kadam.torch.Recorder(model.named_parameters(), "recording", comm)
        recorder.step()   # in each step, between backward() and optimizer.step()
        recorder.close()

    named_parameters: pairs of name and parameter; those that require no gradient are left out. folder: a folder that all
    ranks see, without an earlier recording. comm: a communicator of mpi4py or a process group; None: the default process
    group of torch.distributed, or one rank. steps: the number of steps after which the recording ends by itself, and
    step() does nothing.

    The recorder takes gradients during the backward pass, so they are a rank's own under DistributedDataParallel too, and
    not clipped. Gradients of several backward passes add up, as in parameter.grad. A parameter without a gradient in a
    step has zeros. A recording that is cut off can be replayed. Disk: 4 B per parameter, step and rank. Memory: 4 B per
    parameter, on the host. Each rank writes its own files and sends nothing.
    """

    def __init__(self, named_parameters: Iterable[tuple[str, torch.nn.Parameter]], folder: str | os.PathLike[str],
                 comm: Any = None, *, steps: int | None = None) -> None:
        named = list(named_parameters)
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in named):
            raise TypeError("kadam.torch.Recorder: expected pairs of name and parameter: pass model.named_parameters()")
        self._parameters = [(name, parameter) for name, parameter in named if parameter.requires_grad]
        if not self._parameters:
            raise ValueError("kadam.torch.Recorder: no parameter requires a gradient")
        for name, parameter in self._parameters:
            if not parameter.is_floating_point():
                raise TypeError(f"parameter '{name}' is {parameter.dtype}; kadam.torch.Recorder records real numbers")
        self.folder = pathlib.Path(folder)
        self.steps = 0  #: recorded so far
        self._most = steps
        self._rank, self._ranks = _place(comm)
        self._ends: list[int] = []
        for _, parameter in self._parameters:
            self._ends.append((self._ends[-1] if self._ends else 0) + parameter.numel())
        self._gradient = torch.zeros(self._ends[-1], dtype=torch.float32)
        self._file: BinaryIO | None = self._open()
        self._hooks = [parameter.register_post_accumulate_grad_hook(functools.partial(self._take, k))
                       for k, (_, parameter) in enumerate(self._parameters)]

    def _open(self) -> BinaryIO:
        self.folder.mkdir(parents=True, exist_ok=True)
        own = self.folder / f"gradients.rank{self._rank}.npy"
        try:
            file = open(own, "xb")
        except FileExistsError:
            raise FileExistsError(f"{own} exists already: choose another folder. If this is the first recording there, the "
                                  "ranks do not know of each other: pass their communicator") from None
        file.write(_npy_header(0, self._ends[-1]))
        if self._rank == 0:
            begins = [0, *self._ends]
            tensors = [{"name": name, "begin": begin, "end": end, "shape": list(parameter.shape) or [1]}
                       for (name, parameter), begin, end in zip(self._parameters, begins, self._ends)]
            (self.folder / "case.json").write_text(json.dumps({"ranks": self._ranks, "tensors": tensors}, indent=1) + "\n")
        return file

    def _own(self, k: int) -> torch.Tensor:
        return self._gradient[self._ends[k] - self._parameters[k][1].numel():self._ends[k]]

    def _take(self, k: int, parameter: torch.Tensor) -> None:
        grad = parameter.grad
        if grad is None:
            return
        if grad.is_sparse:
            raise RuntimeError(f"parameter '{self._parameters[k][0]}' has a sparse gradient; kadam.torch.Recorder records "
                               "dense ones: make the embedding with sparse=False")
        self._own(k).copy_(grad.detach().reshape(-1))

    @torch.no_grad()
    def step(self, gradient_scale: float | torch.Tensor | None = None) -> None:
        """Writes the gradients of the backward passes since the last step(). gradient_scale: the factor on the loss; with a
        GradScaler scaler.get_scale()."""
        if self._file is None:
            if self._most is None:
                raise ValueError("kadam.torch.Recorder: step() was called after close()")
            return
        if self.steps == 0 and self._rank == 0:
            x = torch.cat([parameter.detach().reshape(-1).float().cpu() for _, parameter in self._parameters])
            (self.folder / "parameters.npy").write_bytes(_npy_header(x.numel()) + x.numpy().tobytes())
        if gradient_scale is not None:
            self._gradient.div_(float(gradient_scale))
        self._file.write(self._gradient.numpy().data)
        self._gradient.zero_()
        self.steps += 1
        self._write_header(self._file)
        if self.steps == self._most:
            self.close()

    def _write_header(self, file: BinaryIO) -> None:
        """Says how much is there: only what is whole. So a recording may end anywhere."""
        file.flush()
        file.seek(0)
        file.write(_npy_header(self.steps, self._ends[-1]))
        file.flush()
        file.seek(0, os.SEEK_END)

    def close(self) -> None:
        """Ends the recording."""
        if self._file is None:
            return
        for hook in self._hooks:
            hook.remove()
        self._file.close()
        self._file = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
