# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run: workloads, methods of Kadam, peers, rates. Options that a method has for training lie in the
workload's file; TIMING names those of the short runs that are timed."""
import pathlib
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).parents[2]
RATES = ("10mbit", "100mbit", "1gbit", "none")
# Of a timed run, the first steps: two dense ones, and the first compressed one, which allocates.
DENSE_STEPS = 2
SETTLE = DENSE_STEPS + 1
# Rare synchronisations come back after so many steps: only whole rounds are measured.
ROUND = 4
# The same of divisible_adam's background exchanges, as the workload's file has it.
BACKGROUND_STEPS = 8
# A dense step that takes longer than this on the wire is measured in one round.
SLOW_SECONDS = 3.0


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    config: pathlib.Path
    parameters: int
    loss: float  # training loss that time is told to
    more_steps: int = 1  # times as many are measured: short ones vary


@dataclass(frozen=True)
class Method:
    label: str
    optimizer: str
    options: dict = field(default_factory=dict)  # beside the file's
    training: dict = field(default_factory=dict)  # of [training]
    dense: bool = False  # sends all of every gradient
    exchanges: bool = True  # else every host trains for itself
    processes: int | None = None  # one per host unless told
    round_steps: int = ROUND
    same_as: str | None = None  # the method that computes the same; only that is trained


@dataclass(frozen=True)
class Peer:
    label: str
    exchange: str  # of peer_train.py
    processes: int | None = None  # one per host unless told
    same_as: str | None = None  # the method of Kadam that computes the same, hence needs as many steps


TRANSFORMER = Workload("transformer", "Transformer, 3.3 million parameters",
                       pathlib.Path(__file__).with_name("transformer.toml"), 3_307_264, 2.0)
CNN = Workload("cnn", "CNN, Fashion-MNIST, 20 thousand parameters", ROOT / "examples" / "fashion_mnist.toml",
               20_490, 0.28, more_steps=8)
WORKLOADS = (TRANSFORMER, CNN)

_AFTERWARDS = {"overlap": "false"}
_BF16 = {"gradients": "bf16"}
NO_EXCHANGE = "adam, no exchange"
METHODS = (
    Method("adam, one process", "adam", exchanges=False, processes=1),
    Method(NO_EXCHANGE, "adam", exchanges=False),
    Method("adam", "adam", training=_AFTERWARDS, dense=True),
    Method("adam, overlapped", "adam", dense=True, same_as="adam"),
    Method("adam bf16", "adam", _BF16, training=_AFTERWARDS, dense=True),
    Method("adam bf16, overlapped", "adam", _BF16, dense=True, same_as="adam bf16"),
    Method("lamb", "lamb", dense=True),
    Method("onebit_adam", "onebit_adam"),
    Method("onebit_adam, bf16 warm-up", "onebit_adam", _BF16),
    Method("apmsqueeze", "apmsqueeze"),
    Method("apmsqueeze, 1 bit", "apmsqueeze", {"bits": 1}),
    Method("zero_one_adam", "zero_one_adam"),
    Method("onebit_lamb", "onebit_lamb"),
    Method("efficient_adam", "efficient_adam"),
    Method("loco", "loco", {"parameters": "bf16"}),
    Method("locally_accumulated_adam", "locally_accumulated_adam"),
    Method("divisible_adam", "divisible_adam", round_steps=BACKGROUND_STEPS),
)

PEERS_NO_EXCHANGE = "PyTorch, no exchange"
PEERS = (
    Peer("PyTorch, one process", "none", processes=1),
    Peer(PEERS_NO_EXCHANGE, "none"),
    Peer("PyTorch DDP", "float32", same_as="adam"),
    Peer("PyTorch DDP, bf16 hook", "bf16", same_as="adam bf16"),
    Peer("PyTorch DDP, PowerSGD hook", "powersgd"),
)

# The learning rate is so small that a variance of two steps does no harm.
_WARM_UP = {"warmup_steps": DENSE_STEPS}
TIMING = {
    "onebit_adam": _WARM_UP,
    "apmsqueeze": _WARM_UP,
    "onebit_lamb": _WARM_UP,
    "locally_accumulated_adam": _WARM_UP,
    "divisible_adam": _WARM_UP,
    # One synchronisation, then one every four steps from the first measured one on.
    "zero_one_adam": {"variance_freeze_step": DENSE_STEPS, "sync_doubling_steps": 1, "sync_interval_max": ROUND},
}


def timing_options(optimizer):
    return TIMING.get(optimizer, {}) | {"lr": 1e-6, "lr_schedule": "constant", "lr_warmup_steps": 0}


def median_round(steps, seconds_of, length=ROUND):
    """Of measured steps, the round of middling length (the shorter of two): what disturbed others is not in it."""
    rounds = [steps[k:k + length] for k in range(0, len(steps), length)]
    rounds.sort(key=lambda one: sum(map(seconds_of, one)))
    return rounds[(len(rounds) - 1) // 2]


def bits_per_second(rate):
    """Infinite for none."""
    units = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
    return float("inf") if rate == "none" else float(rate[:-4]) * units[rate[-4:]]


def dense_wire_seconds(workload, rate, hosts):
    """Of a float32 mean by ring: 2 (n - 1)/n times the gradient, 1514 bytes on the wire for 1448."""
    return 8 * 4 * workload.parameters * 2 * (hosts - 1) / hosts / bits_per_second(rate) * 1514 / 1448


def measured_steps(steps, dense, workload, rate, hosts, round_steps=ROUND):
    slow = dense and dense_wire_seconds(workload, rate, hosts) > SLOW_SECONDS
    return ROUND if slow else steps * workload.more_steps * round_steps // ROUND
