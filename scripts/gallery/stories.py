# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the stories run: workloads, hosts, methods. Of the solver in Fortran: heat.py."""
import pathlib
import sys
from dataclasses import dataclass

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("bench_network", "internal")]
from studies import TRANSFORMER, Method, Workload, delay_of, round_steps  # noqa: E402
from optimizers import words_of  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
BF16 = {"gradients": "bf16"}


def of_length(steps):
    """A whole training of so many steps, a tenth of them with a rising learning rate."""
    return {"training.steps": steps, "optimizer.lr_total_steps": steps, "optimizer.lr_warmup_steps": steps // 10}


@dataclass(frozen=True)
class Story:
    name: str
    hosts: int
    rate: str  # of the hosts' cables, as 100mbit, or 100mbit+50ms with a delay
    workload: Workload | None = None  # None: of a program of its own
    rows: tuple = ()  # (label, optimizer, its options)
    ranks_per_host: int = 1
    flat: tuple = ()  # labels of rows in one level, of which only steps are timed; the others exchange in two

    def lab(self):
        """The options of scripts/netlab.sh that make the hosts."""
        return f"--hosts {self.hosts}" + (" --delay 0ms" if delay_of(self.rate) else "")

    def levels(self, label):
        """Words for mpirun: where several ranks share a host, all but `flat` exchange in two levels."""
        in_two = self.ranks_per_host > 1 and label not in self.flat
        return f" -x KADAM_RANKS_PER_NODE={self.ranks_per_host}" if in_two else ""

    def methods(self, known):
        return [Method(label, name, known[name], options, dense=known[name]["dense"],
                       round_steps=round_steps(name, options)) for label, name, options in self.rows]


BERT = Story(
    "bert", hosts=4, rate="100mbit",
    workload=Workload("bert", "Masked language model, 1 million parameters", EXAMPLES / "masked_language_model.toml",
                      995_008, loss=2.0, is_text=True, settings={"model.width": 192}),
    rows=(("adam", "adam", {}),
          ("adam bf16", "adam", BF16),
          ("onebit_adam, float8 warm-up", "onebit_adam", {"warmup_steps": 280, "warmup_code": "float8"}),
          ("local_muon H 8", "local_muon", {"lr": 0.006, "sync_interval": 8})))

FORTRAN = Story("fortran", hosts=4, rate="100mbit")

_MUON = {"lr": 0.006, "sync_interval": 8}
TWO_SITES = Story(
    "two_sites", hosts=2, ranks_per_host=2, rate="100mbit+50ms", flat=("adam bf16, one level",),
    workload=Workload("two_sites", "Transformer, 3.3 million parameters, on two sites", TRANSFORMER.config,
                      TRANSFORMER.parameters, loss=2.2, is_text=True,
                      settings=of_length(180) | {"training.held_out_examples": 512}),
    rows=(("adam bf16, one level", "adam", BF16),
          ("adam bf16", "adam", BF16),
          ("onebit_adam, float8 warm-up", "onebit_adam", {"warmup_steps": 45, "warmup_code": "float8"}),
          ("local_muon H 8", "local_muon", _MUON),
          ("local_muon H 8, 4 steps late", "local_muon", _MUON | {"round_delay": 4})))

STORIES = {story.name: story for story in (BERT, FORTRAN, TWO_SITES)}


def chosen(names):
    """These stories, or all; ends the program at a name that none has."""
    return [STORIES[name] for name in words_of(",".join(names or STORIES), STORIES, "story")]
