# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run: workloads, methods, learning rates. The options of a method lie in the workload's example file; a row of
scripts/internal/tuned.toml names only what differs from it."""
import pathlib
import sys
from dataclasses import dataclass, field, replace

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from optimizers import has_option  # noqa: E402
from tuned import rows  # noqa: E402

RANKS = 4


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    config: str
    rates: tuple  # learning rates to try, of Adam's kin
    lamb_rates: tuple
    settings: dict = field(default_factory=dict)  # beside the file's
    ranks: int = RANKS
    short: str = ""  # title

    def rates_for(self, method):
        if has_option(method.kind, "trust_max"):
            return self.lamb_rates
        # Muon's kin is at its best at one to four times Adam's.
        return tuple(2 * rate for rate in self.rates) if has_option(method.kind, "matrices") else self.rates


@dataclass(frozen=True)
class Method:
    label: str
    optimizer: str
    kind: dict  # from optimizers.py
    options: dict = field(default_factory=dict)  # of the optimizer, in addition to the file's


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    workloads: tuple
    seeds: tuple = (1, 2, 3)  # the first seed chooses the learning rate
    every: bool = False  # optimizer, whether it has rows in tuned.toml or not

    def methods(self, known, wanted=None):
        """Methods in the order of the optimizers: the wanted ones, or all. The others are compared with the first."""
        dense = Method("adam", "adam", known["adam"])
        return [dense] + [Method(label, name, kind, options) for name, kind in known.items()
                          if wanted is None or name in wanted
                          for label, options in rows(self.name, kind, self.every and name != dense.optimizer)]


TRANSFORMER = Workload("transformer", "Transformer, causal language model", "examples/transformer.toml",
                       (0.0015, 0.003, 0.006), (0.005, 0.01, 0.02), short="transformer")
VIT = Workload("vit", "Vision transformer, Fashion-MNIST", "examples/fashion_mnist_vit.toml",
               (0.0015, 0.003, 0.006), (0.005, 0.01, 0.02), short="ViT")
CNN = Workload("cnn", "CNN, Fashion-MNIST", "examples/fashion_mnist.toml",
               (0.006, 0.012, 0.024), (0.01, 0.02, 0.04), short="CNN")

CONVERGENCE = Study("convergence", "Every algorithm", (TRANSFORMER, VIT, CNN), every=True)
# Each option beyond the papers, with and without.
VARIANCE = Study("variance", "Small variances and 1 bit: floor, preconditioning", (CNN,))
SPARSE = Study("sparse", "Old updates: step-ahead, momentum, who reduces", (TRANSFORMER,))
def _unlike(alpha, ranks=RANKS, **changes):
    """Labels spread over ranks by a Dirichlet distribution."""
    return replace(CNN, name=f"cnn_{alpha}_{ranks}", title=f"{CNN.title}, Dirichlet alpha = {alpha}", ranks=ranks,
                   settings={"data.dirichlet_alpha": alpha}, **changes)


UNLIKE = Study("unlike", "Shards that are not alike", (_unlike(0.3),), every=True)
UNLIKE_MORE = Study("unlike_more", "Shards that are still less alike",
                    (_unlike(0.1, rates=CNN.rates[1:], lamb_rates=CNN.lamb_rates[1:]),), every=True)
MANY_RANKS = Study("many_ranks", "Sixteen ranks, and shards still less alike",
                   (_unlike(0.1, 16, rates=CNN.rates[1:2], lamb_rates=CNN.lamb_rates[1:2]),), seeds=(1,), every=True)


def _of_steps(name, title, steps):
    workload = replace(TRANSFORMER, name=f"transformer_{name}", title=f"{TRANSFORMER.title}, {steps} steps",
                       rates=(0.003,), lamb_rates=(0.01,),
                       settings={"training.steps": steps, "optimizer.lr_total_steps": steps})
    return Study(name, title, (workload,), seeds=(1,))


LONG = _of_steps("long", "Four times as many steps", 2400)
LONGER = _of_steps("longer", "Ten times as many steps: hundreds of rounds", 6000)

# What is not published, or not with these algorithms; at rates at which the published way is at its best.
WARMUP = Study("warmup", "Warm-ups that are not dense", (replace(TRANSFORMER, rates=(0.003,)), replace(CNN, rates=(0.012,))))
ERRORS = Study("errors", "Errors in 16 bits", WARMUP.workloads)
MOMENTS = Study("moments", "Moments in 8 bits", WARMUP.workloads[:1])
ROUNDS = Study("rounds", "Codes and blocks of rounds",
               (replace(TRANSFORMER, rates=(0.003, 0.006)), replace(CNN, rates=(0.006, 0.012))))
TWO_VALUES = Study("two_values", "Sparse messages of 14 bits an entry, and variances of factors",
                   (replace(TRANSFORMER, rates=(0.003, 0.006)), replace(CNN, rates=(0.012, 0.024))))
DELAY = Study("delay", "Rounds that travel while ranks compute on",
              (replace(TRANSFORMER, rates=(0.003, 0.006)), replace(CNN, rates=(0.006, 0.012))))
ZERO_ONE = Study("zero_one", "0/1 Adam on the CNN", (replace(CNN, rates=(0.012, 0.024, 0.048)),))

STUDIES = (CONVERGENCE, VARIANCE, SPARSE, UNLIKE, UNLIKE_MORE, MANY_RANKS, LONG, LONGER, WARMUP, ERRORS, MOMENTS, ROUNDS, DELAY, TWO_VALUES, ZERO_ONE)
