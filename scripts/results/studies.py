# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run: workloads, methods, learning rates. The options of a method lie in the workload's example file;
a method here names only what differs from it."""
from dataclasses import dataclass, field

RANKS = 4
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    config: str
    settings: dict = field(default_factory=dict)  # beside the file's


@dataclass(frozen=True)
class Method:
    label: str
    optimizer: str
    options: dict = field(default_factory=dict)  # of the optimizer, beside the file's
    rates: tuple = ()  # learning rates to try; of the study if empty


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    workloads: tuple
    methods: tuple  # the first is what the others are compared with

    def rates(self, method):
        return method.rates or (LAMB_RATES if "lamb" in method.optimizer else ADAM_RATES)


ADAM_RATES = (0.0015, 0.003, 0.006, 0.012)
LAMB_RATES = (0.005, 0.01, 0.02, 0.04)

TRANSFORMER = Workload("transformer", "Transformer, causal language model", "examples/transformer.toml")
VIT = Workload("vit", "Vision transformer, Fashion-MNIST", "examples/fashion_mnist_vit.toml")
CNN = Workload("cnn", "CNN, Fashion-MNIST", "examples/fashion_mnist.toml")


def plain(*optimizers):
    return tuple(Method(name, name) for name in optimizers)


CONVERGENCE = Study(
    "convergence",
    "Every algorithm",
    (TRANSFORMER, VIT, CNN),
    plain(
        "adam",
        "lamb",
        "onebit_adam",
        "zero_one_adam",
        "onebit_lamb",
        "apmsqueeze",
        "efficient_adam",
        "loco",
        "locally_accumulated_adam",
        "divisible_adam",
    ),
)
