# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run: workloads, methods of Kadam, peers, rates. Options that a method has for training lie in the
workload's file and in scripts/internal/tuned.toml; timing_options() are those of the short runs that are timed."""
import pathlib
import sys
from dataclasses import dataclass, field

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from optimizers import has_option  # noqa: E402
from tuned import needed_options, network_options, rows  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
RATES = ("10mbit", "100mbit", "1gbit", "none")
# The first steps of a timed run, which do not count: two dense ones, and the first compressed one, which allocates.
DENSE_STEPS = 2
SETTLE = DENSE_STEPS + 1
# Steps between rare synchronisations. Only whole rounds of this length are measured.
ROUND = 4
# A dense step that takes longer than this on the wire is measured in one round.
SLOW_SECONDS = 3.0


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    config: pathlib.Path
    parameters: int
    loss: float  # training loss up to which time is measured
    more_steps: int = 1  # factor on the number of measured steps: short ones vary
    is_tuned: bool = False  # its options are in tuned.toml, not in its configuration file
    is_text: bool = False
    settings: dict = field(default_factory=dict)  # beside the file's


@dataclass(frozen=True)
class Method:
    label: str
    optimizer: str
    kind: dict  # from optimizers.py
    options: dict = field(default_factory=dict)  # in addition to the file's
    training: dict = field(default_factory=dict)  # keys of the section [training]
    dense: bool = False  # sends the whole gradient in every step
    exchanges: bool = True  # False: every host trains alone
    processes: int | None = None  # one per host unless told
    round_steps: int = ROUND
    same_as: str | None = None  # the method that computes the same; only that is trained


@dataclass(frozen=True)
class Peer:
    label: str
    exchange: str  # --exchange of peer_train.py
    processes: int | None = None  # one per host unless told
    same_as: str | None = None  # label of the method that computes the same, and so needs the same number of steps


TRANSFORMER = Workload("transformer", "Transformer, 3.3 million parameters",
                       pathlib.Path(__file__).with_name("transformer.toml"), 3_307_264, 2.0,
                       is_tuned=True, is_text=True)
CNN = Workload("cnn", "CNN, Fashion-MNIST, 20 thousand parameters", ROOT / "examples" / "fashion_mnist.toml",
               20_490, 0.28, more_steps=8)
WORKLOADS = (TRANSFORMER, CNN)

_AFTERWARDS = {"overlap": "false"}
_BF16 = {"gradients": "bf16"}
NO_EXCHANGE = "adam, no exchange"


def round_steps(name, options):
    """Number of steps that contains each background exchange, or round of local steps, once."""
    own = network_options(name) | options
    return max(ROUND, own.get("background_steps", ROUND), own.get("sync_interval", ROUND))


def methods(known):
    """Methods: dense Adam in several variants, then all other optimizers in the order of the table."""
    adam = known["adam"]
    return [
        Method("adam, one process", "adam", adam, exchanges=False, processes=1),
        Method(NO_EXCHANGE, "adam", adam, exchanges=False),
        Method("adam", "adam", adam, training=_AFTERWARDS, dense=True),
        Method("adam, overlapped", "adam", adam, dense=True, same_as="adam"),
        Method("adam bf16", "adam", adam, _BF16, training=_AFTERWARDS, dense=True),
        Method("adam bf16, overlapped", "adam", adam, _BF16, dense=True, same_as="adam bf16"),
        *(Method(label, name, kind, options, dense=kind["dense"], round_steps=round_steps(name, options))
          for name, kind in known.items() if kind != adam for label, options in rows("network", kind, every=True)),
    ]


PEERS_NO_EXCHANGE = "PyTorch, no exchange"
PEERS = (
    Peer("PyTorch, one process", "none", processes=1),
    Peer(PEERS_NO_EXCHANGE, "none"),
    Peer("PyTorch DDP", "float32", same_as="adam"),
    Peer("PyTorch DDP, bf16 hook", "bf16", same_as="adam bf16"),
    Peer("PyTorch DDP, PowerSGD hook", "powersgd"),
)


def timing_options(kind):
    """Options of timed runs. The learning rate is so small that a variance from two steps does no harm."""
    options = {"lr": 1e-6, "lr_schedule": "constant", "lr_warmup_steps": 0}
    if kind["warmup"]:
        options[kind["warmup"]] = DENSE_STEPS
    if has_option(kind, "sync_doubling_steps"):
        # One synchronisation, then one every four steps, beginning with the first measured step.
        options |= {"sync_doubling_steps": 1, "sync_interval_max": ROUND}
    return options


def training_options(workload, method):
    """Options of a method in addition to those of the workload's file."""
    own = (network_options(method.optimizer) if workload.is_tuned else {}) | method.options
    return needed_options(method.kind, workload.config, own) | own


def median_round(steps, seconds_of, length=ROUND):
    """The round of median duration (of two, the shorter), so that disturbances of other rounds do not count."""
    rounds = [steps[k:k + length] for k in range(0, len(steps), length)]
    rounds.sort(key=lambda one: sum(map(seconds_of, one)))
    return rounds[(len(rounds) - 1) // 2]


# Of rates, as scripts/netlab.sh takes them: as people write them, and bits per second.
UNITS = {"kbit": ("kbit/s", 1e3), "mbit": ("Mbit/s", 1e6), "gbit": ("Gbit/s", 1e9)}


def bits_per_second(rate):
    """The speed of a rate such as 100mbit+50ms; infinite for "none"."""
    speed = rate.partition("+")[0]
    return float("inf") if speed == "none" else float(speed[:-4]) * UNITS[speed[-4:]][1]


def delay_of(rate):
    """The delay of a rate such as 100mbit+50ms; empty without one."""
    return rate.partition("+")[2]


def title_of(rate):
    """A rate as people write it: "100 Mbit/s per host, 50 ms from host to host"."""
    speed, _, delay = rate.partition("+")
    title = "Not shaped" if speed == "none" else f"{speed[:-4]} {UNITS[speed[-4:]][0]} per host"
    return f"{title}, {delay[:-2]} {delay[-2:]} from host to host" if delay else title


def dense_wire_seconds(workload, rate, hosts):
    """Seconds of a float32 ring all-reduce: 2 (n - 1)/n times the gradient, 1514 bytes on the wire for 1448."""
    return 8 * 4 * workload.parameters * 2 * (hosts - 1) / hosts / bits_per_second(rate) * 1514 / 1448


def measured_steps(steps, dense, workload, rate, hosts, round_steps=ROUND):
    slow = dense and dense_wire_seconds(workload, rate, hosts) > SLOW_SECONDS
    return ROUND if slow else steps * workload.more_steps * round_steps // ROUND
