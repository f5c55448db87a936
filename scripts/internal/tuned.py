# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned options of optimizers (tuned.toml), and what an optimizer gets that nobody has tuned. A kind is what optimizers.py
says of an optimizer."""
import pathlib
import tomllib

TUNED = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def network_options(name):
    """Of an optimizer on the transformer of scripts/bench_network.sh."""
    return TUNED.get(name, {}).get("network", {})


def studies_of(row):
    return [row["study"]] if isinstance(row["study"], str) else row["study"]


def rows(study, kind, every):
    """(label, options) of its rows in a study; every: one with its name where it has none."""
    name = kind["name"]
    own = [(row["label"], row.get("options", {})) for row in TUNED.get(name, {}).get("rows", ()) if study in studies_of(row)]
    return own or ([(name, {})] if every else [])


def needed_options(kind, config, given):
    """A warm-up of a quarter of the steps, where an optimizer needs one and neither the file nor `given` says it."""
    warmup = kind["warmup"]
    table = tomllib.loads(pathlib.Path(config).read_text(encoding="utf-8"))
    if not kind["needs_warmup"] or warmup in table["optimizer"].get(kind["name"], {}) | given:
        return {}
    return {warmup: table["training"]["steps"] // 4}
