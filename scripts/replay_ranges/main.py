# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains three networks with dense Adam, records their gradients, replays these with every optimizer that compresses,
with the options of the example file, and prints the smallest and the largest value of each figure over all tensors."""
import argparse
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
from optimizers import optimizers  # noqa: E402
from report import processor, today_and_commit  # noqa: E402

WORKLOADS = {"transformer": "examples/transformer.toml", "vit": "examples/fashion_mnist_vit.toml",
             "cnn": "examples/fashion_mnist.toml"}
STEPS = 300  # of which up to 200 are a warm-up
FIGURES = ("distance", "length", "signs", "largest_step", "apart")
NORMAL = pathlib.Path("drivers/replay/normal.cpp")


def run(ranks, *command):
    words = ["mpirun", "-n", str(ranks), *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\nfailed:\n{done.stdout}{done.stderr}")
    return done.stdout


def replays(arguments, workload, names):
    """{optimizer: figures of each tensor}."""
    config = WORKLOADS[workload]
    folder = arguments.out / workload
    if not (folder / "run" / "parameters.safetensors").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(arguments.ranks, arguments.programs / "kadam-train", "--config", config, "--set", f"training.steps={STEPS}",
            "--set", "training.held_out_examples=100", "--record", folder / "recording", "--run", folder / "run")
    found = {}
    for name in names:
        said = folder / f"{name}.json"
        if not said.exists():
            said.write_text(run(arguments.ranks, arguments.programs / "kadam-replay", "--case", folder / "recording",
                                "--config", config, "--optimizer", name, "--json"))
        summary = json.loads(said.read_text())
        found[name] = summary["tensors"]
        print(workload, name, {k: summary["all"][k] for k in FIGURES}, file=sys.stderr, flush=True)
    return found


def outwards(least, most):
    """Rounds a range outwards to two digits."""
    def rounded(value, direction):
        if value == 0:
            return 0.0
        unit = 10.0 ** (math.floor(math.log10(value)) - 1)
        return float(f"{direction(value / unit) * unit:.2g}")
    return rounded(least, math.floor), rounded(most, math.ceil)


def ranges(tensors):
    found = {}
    for figure in FIGURES:
        values = [tensor[figure] for tensor in tensors if tensor[figure] is not None]
        # Rounding is no distance.
        values = [0.0 if figure == "apart" and value < 1e-6 else value for value in values]
        found[figure] = outwards(min(values), max(values))
    return found


def row(name, of):
    pairs = ", ".join(f"{{{least:g}, {most:g}}}" for least, most in of.values())
    return f'    {{"{name}", {{{{{pairs}}}}}}},'


def write(rows):
    begin, rest = NORMAL.read_text(encoding="utf-8").split("// Made by scripts/replay_ranges.sh --write.\n")
    end = rest.split("}};\n", 1)[1]
    made = f"constexpr std::array<NormalRanges, {len(rows)}> measured = {{{{\n" + "\n".join(rows) + "\n}};\n"
    NORMAL.write_text(f"{begin}// Made by scripts/replay_ranges.sh --write.\n{made}{end}", encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(prog="scripts/replay_ranges.sh", description=__doc__)
    parser.add_argument("--workload", action="append", choices=WORKLOADS,
                        help="workload to train; may be repeated (default: all)")
    parser.add_argument("--write", action="store_true", help=f"puts the ranges into {NORMAL}")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--programs", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/replay_ranges"),
                        help="folder of recordings and figures; it uses those that are there again")
    parser.add_argument("--no-setup", action="store_true",
                        help="takes the programs as they are, without scripts/setup.sh")
    return parser.parse_args()


def main():
    arguments = parse()
    day, commit = today_and_commit()
    names = [name for name, kind in optimizers(arguments.programs / "kadam-replay").items() if not kind["dense"]]
    print(f"{day}, {processor()}, {os.cpu_count()} cores, {arguments.ranks} ranks, {STEPS} steps, {commit}")
    tensors = {name: [] for name in names}
    for workload in arguments.workload or WORKLOADS:
        for name, found in replays(arguments, workload, names).items():
            tensors[name] += found
    rows = [row(name, ranges(found)) for name, found in tensors.items()]
    print("\n".join(rows))
    if arguments.write:
        write(rows)


if __name__ == "__main__":
    main()
