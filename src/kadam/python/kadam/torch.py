# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kadam as a torch.optim.Optimizer.

    optimizer = kadam.torch.Optimizer(model.named_parameters(), "onebit_adam", MPI.COMM_WORLD, lr=1e-3, warmup_steps=500)

in place of torch.optim.AdamW, and no DistributedDataParallel around the model: the optimizer exchanges gradients itself.
docs/pytorch.md says what is as in PyTorch, and what is not.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from . import _kadam, _torch_ranks
from ._torch_ranks import ranks
from .recorder import Recorder

# What parameter groups say, or the tensors do.
_OF_GROUPS = {"lr", "beta1", "beta2", "eps", "weight_decay"}
# How to exchange: for kadam.Optimizer.
_EXCHANGE = ("ranks_per_node", "gpu_aware", "piece_bytes", "timeout_seconds", "allow_alone")
_FORMATS = {torch.float32: "float32", torch.bfloat16: "bf16", torch.float16: "fp16"}
# Kadam decides which tensors move when it makes an optimizer, so that an lr_scale cannot become 0. A group whose rate
# is 0 gets this scale, by which no float32 parameter changes.
_NEXT_TO_NOTHING = 1e-30


@dataclass
class _Slice:
    """Where a parameter lies in a flat vector."""
    parameter: torch.nn.Parameter
    group: int
    name: str
    begin: int
    end: int
    announced: bool = False


@dataclass
class _Part:
    """Parameters of one dtype, device and pair of betas and eps: one optimizer of Kadam's, and its flat vectors."""
    engine: _kadam.Optimizer
    slices: list[_Slice]
    x: torch.Tensor  # float32
    model: torch.Tensor | None  # what the network works with, where that is not x
    gradient: torch.Tensor
    groups: list[int]
    made_with: tuple[Any, ...]
    has_groups: bool
    set_to: dict[str, float] = field(default_factory=dict)
    set_of_groups: dict[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def stream(self) -> Any:
        return torch.cuda.current_stream() if self.x.is_cuda else None

    def take(self, place: _Slice) -> None:
        """The parameter's gradient becomes part of the flat one; one that is None is 0 there."""
        own = self.gradient[place.begin:place.end]
        grad = place.parameter.grad
        if grad is None:
            own.zero_()
            return
        if grad.is_sparse:
            raise RuntimeError(f"parameter '{place.name}' has a sparse gradient; Kadam takes dense ones: make the "
                               "embedding with sparse=False")
        if grad.data_ptr() != own.data_ptr():
            own.copy_(grad.detach().reshape(-1))
            place.parameter.grad = own.view_as(place.parameter)

    def set_rates(self, groups: list[dict[str, Any]]) -> None:
        """What parameter groups say now holds in the next step."""
        rates = {k: float(groups[k]["lr"]) for k in self.groups}
        decays = {k: float(groups[k]["weight_decay"]) for k in self.groups}
        largest = max(rates.values())
        changed = {name: value for name, value in (("lr", largest), ("weight_decay", decays[self.groups[0]]))
                   if self.set_to.get(name) != value}
        if changed:
            self.engine.set(**changed)
            self.set_to.update(changed)
        for k in self.groups if self.has_groups and largest > 0 else ():
            scale, decay = self.set_of_groups.get(k, (0.0, -1.0))
            wanted = max(rates[k] / largest, _NEXT_TO_NOTHING)
            # A scheduler changes all rates by one factor; what rounding makes of their ratio is no change.
            if abs(wanted - scale) > 1e-12 * wanted or decays[k] != decay:
                self.engine.set_group(_pattern(k), lr_scale=wanted, weight_decay=decays[k])
                self.set_of_groups[k] = (wanted, decays[k])

    def forget_rates(self) -> None:
        """After a state came back, with the rates of its time."""
        self.set_to, self.set_of_groups = {}, {}

    def write_model(self) -> None:
        if self.model is not None:
            self.model.copy_(self.x)


def _pattern(group: int) -> str:
    return f"{group}/*"


class Optimizer(torch.optim.Optimizer):
    """Any Kadam optimizer, with the interface of torch.optim.AdamW.

    params: as for torch.optim; with model.named_parameters() messages and options can name tensors. algorithm: one of
    kadam.optimizers(). comm: a communicator of mpi4py, or a process group of torch.distributed, whose ranks then connect
    by TCP for Kadam's messages; None: one rank. lr, betas, eps, weight_decay: defaults of groups that do not set them.
    broadcast: start with the parameters of rank 0. overlap: send gradients during the backward pass, if the algorithm
    sends gradients. All other arguments are those of kadam.Optimizer that say how to exchange (ranks_per_node, gpu_aware,
    piece_bytes, timeout_seconds, allow_alone), and options of the algorithm.

    Compute gradients from each rank's own batch; step() does the exchange. The first step(), or prepare(), makes all that
    the ranks share; groups can only be added before. From then on parameters are views of one flat vector. "Collective"
    means: all ranks call it.
    """

    # GradScaler leaves it to step() to unscale and to skip: ranks must not skip each for itself.
    _step_supports_amp_scaling = True

    def __init__(self, params: Iterable[Any], algorithm: str = "adam", comm: Any = None, *, lr: float = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.01,
                 broadcast: bool = True, overlap: bool = False, **options: Any) -> None:
        self._parts: list[_Part] = []
        self._accumulates = False
        self._hooks: list[Any] = []
        known = _kadam.options(algorithm)
        exchange = {name: options.pop(name) for name in _EXCHANGE if name in options}
        for name in options:
            if name in _OF_GROUPS:
                raise TypeError(f"kadam.torch.Optimizer: set {name} through "
                                f"{'betas' if name.startswith('beta') else name}, for all groups or in one")
            if name == "gradients" or name.startswith("lr_"):
                source = "the parameters' dtype" if name == "gradients" else "a scheduler of PyTorch"
                raise TypeError(f"kadam.torch.Optimizer takes no option '{name}': it comes from {source}")
            if name not in known:
                raise TypeError(f"{algorithm} has no option '{name}': its options are "
                                f"{', '.join(sorted(set(known) - _OF_GROUPS))}")
        self.algorithm = algorithm
        self.comm = _torch_ranks.as_comm(comm)
        self.results: list[_kadam.StepResult] = []  #: of the last step, one for each of `engines`
        self._options = options
        self._broadcasts = broadcast
        self._overlaps = overlap
        self._exchange = exchange
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if self._parts:
            raise RuntimeError("kadam.torch.Optimizer: groups can only be added before the first step, where the ranks "
                               "agree on their tensors: make a new optimizer")
        super().add_param_group(param_group)

    # ---- making ----

    def prepare(self) -> None:
        """Prepares the first step(): makes parameters views of flat vectors, equal on all ranks. Collective."""
        if self._parts:
            return
        kinds: dict[tuple[Any, ...], list[tuple[int, str, torch.nn.Parameter]]] = {}
        many = len(self.param_groups) > 1
        number = 0
        for k, group in enumerate(self.param_groups):
            names = group.get("param_names") or [None] * len(group["params"])
            for name, parameter in zip(names, group["params"]):
                name = name or str(number)
                number += 1
                if not parameter.requires_grad:
                    continue
                if parameter.dtype not in _FORMATS:
                    raise TypeError(f"parameter '{name}' is {parameter.dtype}; Kadam trains float32, bfloat16 and float16")
                kind = (self._made_with(group), parameter.dtype, parameter.device)
                kinds.setdefault(kind, []).append((k, f"{k}/{name}" if many else name, parameter))
        if not kinds:
            raise RuntimeError("kadam.torch.Optimizer: no parameter requires a gradient")
        if len(kinds) > 1 and self._options.get("clip_norm"):
            raise RuntimeError("kadam.torch.Optimizer: clip_norm needs the norm of all gradients, but these parameters "
                               f"have {len(kinds)} optimizers (one for each dtype, betas and eps): clip before step()")
        self._parts = [self._make_part(*kind, placed) for kind, placed in kinds.items()]
        if self._overlaps:
            for part in self._parts:
                for place in part.slices:
                    self._hooks.append(place.parameter.register_post_accumulate_grad_hook(self._announcer(part, place)))

    @staticmethod
    def _made_with(group: dict[str, Any]) -> tuple[float, float, float]:
        beta1, beta2 = group["betas"]
        return float(beta1), float(beta2), float(group["eps"])

    def _make_part(self, made_with: tuple[float, float, float], dtype: torch.dtype, device: torch.device,
                   placed: list[tuple[int, str, torch.nn.Parameter]]) -> _Part:
        beta1, beta2, eps = made_with
        slices, begin = [], 0
        for k, name, parameter in placed:
            slices.append(_Slice(parameter, k, name, begin, begin + parameter.numel()))
            begin = slices[-1].end
        used = sorted({k for k, _, _ in placed})
        has_groups = len(used) > 1
        largest = max(float(self.param_groups[k]["lr"]) for k in used)
        groups = [{"tensors": _pattern(k), "weight_decay": float(self.param_groups[k]["weight_decay"])} for k in used]
        engine = _kadam.Optimizer(
            self.algorithm, {place.name: tuple(place.parameter.shape) or (1,) for place in slices}, self.comm,
            groups=groups if has_groups else [], lr=largest, beta1=beta1, beta2=beta2, eps=eps,
            weight_decay=groups[0]["weight_decay"], gradients=_FORMATS[dtype], **self._exchange,
            **self._options)
        with torch.no_grad():
            x = torch.cat([place.parameter.detach().reshape(-1).to(torch.float32) for place in slices])
            if self._broadcasts:
                _torch_ranks.broadcast(x, self.comm)
            model = None if dtype == torch.float32 else x.to(dtype)
            gradient = torch.zeros(begin, dtype=dtype, device=device)
            for place in slices:
                place.parameter.data = (x if model is None else model)[place.begin:place.end].view_as(place.parameter)
        part = _Part(engine, slices, x, model, gradient, used, made_with, has_groups)
        part.set_to = {"lr": largest, "weight_decay": groups[0]["weight_decay"]}
        part.set_of_groups = {k: (1.0, of["weight_decay"]) for k, of in zip(used, groups)}
        return part

    # ---- training ----

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None, *, gradient_scale: Any = None) -> Any:
        """Takes one step with the gradients of the parameters. Collective.

        gradient_scale: the factor on the loss; a GradScaler sets it itself. If the gradient of any rank has a NaN or Inf,
        all ranks skip the step, and `skipped` is true. If the gradient of a parameter is None on all ranks, `adam` leaves
        that parameter alone; otherwise None counts as 0.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.prepare()
        scale = gradient_scale if gradient_scale is not None else getattr(self, "grad_scale", None)
        try:
            for part in self._parts:
                self._collect(part, scale)
        except BaseException:
            self._parts[0].engine.give_up_step()  # the others would wait for this rank
            raise
        self._skip_together()
        self.results = []
        for part in self._parts:
            part.set_rates(self.param_groups)
            self.results.append(part.engine.step(part.x, part.gradient, part.model, stream=part.stream))
            for place in part.slices:
                place.announced = False
        return loss

    def _collect(self, part: _Part, scale: Any) -> None:
        for k in part.groups:
            if self._made_with(self.param_groups[k]) != part.made_with:
                raise RuntimeError(f"parameter group {k} has other betas or another eps than in the first step; only lr and "
                                   "weight_decay can change (OneCycleLR, CyclicLR: cycle_momentum=False)")
        for place in part.slices:
            if place.announced and place.parameter.grad is None:
                raise RuntimeError(f"the gradient of '{place.name}' was sent during the backward pass and is gone: call "
                                   "zero_grad() after step(), or make the optimizer without overlap")
            part.take(place)
        part.engine.leave_out([k for k, place in enumerate(part.slices) if place.parameter.grad is None])
        if scale is None:
            return
        if any(place.announced for place in part.slices):
            raise RuntimeError("a scaled gradient was sent during the backward pass: make the optimizer without overlap, or "
                               "do not scale the loss (bfloat16 needs no scale)")
        part.gradient.div_(scale.to(part.gradient.device) if isinstance(scale, torch.Tensor) else scale)

    def _skip_together(self) -> None:
        """Of several optimizers each skips a step whose gradient is NaN: then all do."""
        if len(self._parts) > 1 and not all(bool(torch.isfinite(part.gradient).all()) for part in self._parts):
            for part in self._parts:
                part.gradient[0] = float("nan")

    def _announcer(self, part: _Part, place: _Slice) -> Callable[[torch.Tensor], None]:
        def announce(_: torch.Tensor) -> None:
            if self._accumulates:
                return
            if place.announced:
                raise RuntimeError(f"'{place.name}' has a second gradient before step(), and the first was sent: wrap all "
                                   "backward passes but the last in `with optimizer.accumulate():`")
            with torch.no_grad():
                part.take(place)
            place.announced = True
            part.engine.gradient_ready(part.gradient, place.begin, place.end, stream=part.stream)
        return announce

    @contextlib.contextmanager
    def accumulate(self) -> Iterator[None]:
        """Put all backward passes but the last before a step() in it: they add to gradients and send nothing."""
        before, self._accumulates = self._accumulates, True
        try:
            yield
        finally:
            self._accumulates = before

    @property
    def skipped(self) -> bool:
        """Whether the last step() was skipped, on all ranks."""
        return any(result.skipped for result in self.results)

    @property
    def engines(self) -> list[_kadam.Optimizer]:
        """The Kadam optimizers at work, one for each dtype, betas and eps: for statistics, health() and bytes."""
        return [part.engine for part in self._parts]

    # ---- evaluating, ending ----

    @contextlib.contextmanager
    @torch.no_grad()
    def consensus(self) -> Iterator[None]:
        """Evaluate in it: parameters are those that all ranks have in common, as flush() would leave them. Its start is
        collective."""
        kept = []
        for part in self._parts:
            kept.append(part.x.clone())
            part.engine.consensus(kept[-1], part.x, part.model, stream=part.stream)
        try:
            yield
        finally:
            for part, x in zip(self._parts, kept):
                part.x.copy_(x)
                part.write_model()

    def flush(self) -> None:
        """Delivers the steps that ranks hold back between synchronisations; call it after the last step. Collective."""
        for part in self._parts:
            part.engine.flush(part.x, part.model, stream=part.stream)

    def close(self) -> None:
        """Releases all that Kadam holds; parameters stay. Warns if flush() was left out. Collective."""
        for hook in self._hooks:
            hook.remove()
        for part in self._parts:
            part.engine.close()
        self._hooks, self._parts = [], []

    # ---- states ----

    def save(self, folder: str | os.PathLike[str], keep: int = 2, words: dict[str, str] | None = None) -> None:
        """Saves a checkpoint that any number of ranks can load, as kadam.Optimizer.save() does; one subfolder for each of
        several engines. Collective."""
        self.prepare()
        for part, place in zip(self._parts, self._folders(folder)):
            part.engine.save(part.x, place, keep, words or {}, stream=part.stream)

    def load_newest(self, folder: str | os.PathLike[str]) -> _kadam.Restored | None:
        """Goes on from the newest whole checkpoint in the folder; returns None if there is none. The program restores its
        schedulers: the result has their step. Collective."""
        self.prepare()
        found = [part.engine.load_newest(part.x, place, part.model, stream=part.stream)
                 for part, place in zip(self._parts, self._folders(folder))]
        for part in self._parts:
            part.forget_rates()
        if len({restored and restored.step for restored in found}) > 1:
            raise RuntimeError(f"{folder}: the newest checkpoints of its subfolders are of different steps: load those of "
                               "one step with engines[k].load()")
        return found[0]

    def _folders(self, folder: str | os.PathLike[str]) -> list[pathlib.Path]:
        place = pathlib.Path(folder)
        return [place] if len(self._parts) == 1 else [place / str(k) for k in range(len(self._parts))]

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of this rank as tensors, texts and numbers, for torch.save() with one file per rank. Load it on
        the same rank of the same number of ranks; any number of ranks can load a checkpoint of save()."""
        state = super().state_dict()
        if self._parts:
            state["state"] = {"kadam": [_packed(part) for part in self._parts]}
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from state_dict() to the last bit, parameters included. Collective."""
        super().load_state_dict(dict(state_dict, state={}))
        states = state_dict["state"].get("kadam")
        if states is None:
            if state_dict["state"]:
                raise ValueError("this state is that of another optimizer of PyTorch: load one that "
                                 "kadam.torch.Optimizer.state_dict() returned")
            return
        self.prepare()
        if len(states) != len(self._parts):
            raise ValueError(f"the state has {len(states)} Kadam optimizers, but these parameters have {len(self._parts)} "
                             "(one for each dtype, betas and eps)")
        for part, state in zip(self._parts, states):
            vectors = {name: tensor.contiguous().numpy() for name, tensor in state["vectors"].items()}
            part.engine.set_state(part.x, state["words"], vectors, part.model, stream=part.stream)
            part.forget_rates()


def _packed(part: _Part) -> dict[str, Any]:
    words, vectors = part.engine.state(part.x, stream=part.stream)
    return {"words": words, "vectors": {name: torch.from_numpy(vector) for name, vector in vectors.items()}}


@torch.no_grad()
def broadcast(module: torch.nn.Module, comm: Any) -> None:
    """Copies the parameters and buffers of a module from rank 0 to all ranks. Optimizer does so with the parameters that it
    trains; use this for buffers, as those of BatchNorm, and for frozen parameters. Collective."""
    comm = _torch_ranks.as_comm(comm)
    for tensor in [*module.parameters(), *module.buffers()]:
        _torch_ranks.broadcast(tensor, comm)
