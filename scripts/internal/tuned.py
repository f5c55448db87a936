# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned options of optimizers (tuned.toml), and those that an optimizer needs. kind: from optimizers.py."""
import pathlib
import tomllib

TUNED = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def network_options(name):
    """Options of an optimizer for the transformer of scripts/bench_network.sh."""
    return TUNED.get(name, {}).get("network", {})


def studies_of(row):
    return [row["study"]] if isinstance(row["study"], str) else row["study"]


def rows(study, kind, every):
    """[(label, options)] of an optimizer's rows in a study. every: if it has none, one row with its name."""
    name = kind["name"]
    own = [(row["label"], row.get("options", {})) for row in TUNED.get(name, {}).get("rows", ()) if study in studies_of(row)]
    return own or ([(name, {})] if every else [])


def needed_options(kind, config, given):
    """{warm-up option: a quarter of the steps} if the optimizer needs one that neither `config` nor `given` has, else
    {}."""
    warmup = kind["warmup"]
    table = tomllib.loads(pathlib.Path(config).read_text(encoding="utf-8"))
    if not kind["needs_warmup"] or warmup in table["optimizer"].get(kind["name"], {}) | given:
        return {}
    return {warmup: table["training"]["steps"] // 4}
