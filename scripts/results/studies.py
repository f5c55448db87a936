# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run: workloads, methods, learning rates. The options of a method lie in the workload's example file;
a method here names only what differs from it."""
from dataclasses import dataclass, field

RANKS = 4


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    config: str
    rates: tuple  # learning rates to try, of Adam's kin
    lamb_rates: tuple
    settings: dict = field(default_factory=dict)  # beside the file's

    def rates_for(self, method):
        return self.lamb_rates if "lamb" in method.optimizer else self.rates


@dataclass(frozen=True)
class Method:
    label: str
    optimizer: str
    options: dict = field(default_factory=dict)  # of the optimizer, beside the file's


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    workloads: tuple
    methods: tuple  # the first is what the others are compared with
    seeds: tuple = (1, 2, 3)  # the first chooses the learning rate


TRANSFORMER = Workload("transformer", "Transformer, causal language model", "examples/transformer.toml",
                       (0.0015, 0.003, 0.006), (0.005, 0.01, 0.02))
VIT = Workload("vit", "Vision transformer, Fashion-MNIST", "examples/fashion_mnist_vit.toml",
               (0.0015, 0.003, 0.006), (0.005, 0.01, 0.02))
CNN = Workload("cnn", "CNN, Fashion-MNIST", "examples/fashion_mnist.toml",
               (0.006, 0.012, 0.024), (0.01, 0.02, 0.04))

def plain(*optimizers):
    return tuple(Method(name, name) for name in optimizers)


CONVERGENCE = Study(
    "convergence",
    "Every algorithm",
    (TRANSFORMER, VIT, CNN),
    plain("adam", "lamb", "onebit_adam", "zero_one_adam", "onebit_lamb")
    + (
        Method("apmsqueeze 4 bit", "apmsqueeze", {"bits": 4}),
        Method("apmsqueeze 1 bit", "apmsqueeze", {"bits": 1}),
        Method("efficient_adam 4 bit", "efficient_adam", {"bits": 4}),
        Method("efficient_adam 1 bit", "efficient_adam", {"bits": 1}),
        Method("loco", "loco", {"parameters": "bf16"}),
    )
    + plain("locally_accumulated_adam", "divisible_adam"),
)

# Each option beyond the papers, with and without.
VARIANCE = Study(
    "variance",
    "Small variances and 1 bit: floor, preconditioning",
    (CNN,),
    (
        Method("adam", "adam"),
        Method("onebit_adam as published", "onebit_adam", {"variance_floor": 0.0}),
        Method("onebit_adam floor 0.1", "onebit_adam", {"variance_floor": 0.1}),
        Method("onebit_adam preconditioned", "onebit_adam", {"variance_floor": 0.0, "precondition": True}),
        Method("onebit_adam both", "onebit_adam", {"variance_floor": 0.1, "precondition": True}),
        Method("zero_one_adam as published", "zero_one_adam", {"variance_floor": 0.0}),
        Method("zero_one_adam floor 0.1", "zero_one_adam", {"variance_floor": 0.1}),
        Method("onebit_lamb as published", "onebit_lamb", {"variance_floor": 0.0}),
        Method("onebit_lamb floor 0.1", "onebit_lamb", {"variance_floor": 0.1}),
    ),
)

SPARSE = Study(
    "sparse",
    "Old updates: step-ahead, momentum, who reduces",
    (TRANSFORMER,),
    (
        Method("adam", "adam"),
        Method("adam beta1 0.7", "adam", {"beta1": 0.7}),
        Method("local as published", "locally_accumulated_adam", {"step_ahead": 0.0, "beta1": 0.9}),
        Method("local ahead", "locally_accumulated_adam", {"step_ahead": 1.0, "beta1": 0.9}),
        Method("local beta1 0.7", "locally_accumulated_adam", {"step_ahead": 0.0, "beta1": 0.7}),
        Method("local ahead beta1 0.7", "locally_accumulated_adam", {"step_ahead": 1.0, "beta1": 0.7}),
        Method("local ahead beta1 0.7 owner", "locally_accumulated_adam",
               {"step_ahead": 1.0, "beta1": 0.7, "exchange": "owner", "density": 0.0068}),
        Method("divisible not ahead", "divisible_adam", {"step_ahead": 0.0, "beta1": 0.9}),
        Method("divisible ahead", "divisible_adam", {"step_ahead": 1.0, "beta1": 0.9}),
        Method("divisible ahead beta1 0.7", "divisible_adam", {"step_ahead": 1.0, "beta1": 0.7}),
    ),
)

UNLIKE = Study(
    "unlike",
    "Shards that are not alike",
    (Workload("cnn_unlike", "CNN, Fashion-MNIST, labels spread over ranks by a Dirichlet distribution, alpha = 0.3",
              CNN.config, CNN.rates, CNN.lamb_rates, {"data.dirichlet_alpha": 0.3}),),
    (
        Method("adam", "adam"),
        Method("onebit_adam", "onebit_adam"),
        Method("zero_one_adam", "zero_one_adam"),
        Method("efficient_adam 1 bit", "efficient_adam", {"bits": 1}),
        Method("local no mean of v", "locally_accumulated_adam", {"step_ahead": 1.0, "density": 0.0026}),
        Method("local mean of v every 200", "locally_accumulated_adam",
               {"step_ahead": 1.0, "density": 0.0010, "variance_sync_interval": 200}),
        Method("local mean of v every 50", "locally_accumulated_adam",
               {"step_ahead": 1.0, "variance_sync_interval": 50}),
        Method("divisible no mean of v", "divisible_adam"),
        Method("divisible mean of v every 50", "divisible_adam", {"variance_sync_interval": 50}),
    ),
)

LONG = Study(
    "long",
    "Four times as many steps",
    (Workload("transformer_long", "Transformer, causal language model, 2400 steps", TRANSFORMER.config,
              (0.003,), (0.01,), {"training.steps": 2400, "optimizer.lr_total_steps": 2400}),),
    plain("adam", "onebit_adam", "locally_accumulated_adam", "divisible_adam"),
    seeds=(1,),
)

STUDIES = (CONVERGENCE, VARIANCE, SPARSE, UNLIKE, LONG)
