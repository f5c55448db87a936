# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-plan, run: program_test.py KADAM_PLAN"""
import json
import os
import pathlib
import shlex
import sys
import tempfile

from expect import expect
from program import Program

GIVEN = ("--parameters", "340M", "--memory", "800GB/s", "--compute", "130ms")
program = Program(sys.argv[1:], timeout=100)


def predicted(*arguments):
    done = program.start(0, *GIVEN, *arguments, "--json")
    expect(done.returncode == 0 and done.stderr == "", done)
    return json.loads(done.stdout)


# Slow links: something compresses; every optimizer is there, and dense Adam in bf16.
NODES = ("--ranks-per-node", "2", "--node-rate", "10GB/s")
slow = predicted("--rate", "1gbit", "--ranks", "2,64", *NODES)
names = {p["name"] for p in slow["predictions"]}
expect(names == set(program.known) | {"adam, bf16"}, names)
expect([v["ranks"] for v in slow["verdicts"]] == [2, 64], slow["verdicts"])
expect(not slow["verdicts"][0]["compresses"] and slow["verdicts"][0]["best"].startswith("adam"), "one node", slow["verdicts"])
expect(slow["verdicts"][1]["compresses"] and slow["verdicts"][1]["speedup"] > 2, slow["verdicts"])
leads = slow["verdicts"][1]["leads"]
expect([lead["name"] for lead in leads] == [name for name, kind in program.known.items() if kind["suits"]], leads)
expect(all(1 < lead["speedup"] <= slow["verdicts"][1]["speedup"] for lead in leads), leads)
expect(slow["pays_below_bytes_per_second"] > 125e6, slow["pays_below_bytes_per_second"])
for p in slow["predictions"]:
    step = p["step"]
    total = step["compute_seconds"] + step["kernel_seconds"] + step["exposed_seconds"]
    expect(abs(step["seconds"] - total) < 1e-12 * total and step["exposed_seconds"] <= step["exchange_seconds"], p)

# Fast links: dense, and at no rate that lies above the threshold anything else.
fast = predicted("--rate", "400gbit", "--ranks", "64")
expect(fast["verdicts"][0]["best"].startswith("adam") and not fast["verdicts"][0]["compresses"], fast["verdicts"])

# Many ranks and few parameters: 1.6 kB to each of 255 ranks. Of 340 million it is 170 kB.
TINY = ("--rate", "10gbit", "--ranks", "256", "--message-cost", "5us", "--memory", "450GB/s", "--compute", "50ms")
for amount_of, is_said in (("3.3M", True), ("340M", False)):
    tiny = program.start(0, "--parameters", amount_of, *TINY).stdout
    said = [line for line in tiny.splitlines() if line.startswith("The number of messages, not their bytes")]
    expect(any("onebit_adam (" in line for line in said) == is_said, tiny)
    expect(not any(" adam (" in line for line in said), tiny)

# What does not fit into the memory of a rank is not recommended; where no dense one fits, there is no rate to pay below.
amount = {p["name"]: 8 * slow["parameters"] + p["state_bytes"] + p["workspace_bytes"]
          for p in slow["predictions"] if p["ranks"] == 64}
best = slow["verdicts"][1]["best"]
SLOW = ("--rate", "1gbit", "--ranks", "64", *NODES)
less = predicted(*SLOW, "--device-memory", f"{(amount[best] - 1) / 1e9:.9f}GB")
expect({p["name"]: p["fits"] for p in less["predictions"]} == {name: has < amount[best] for name, has in amount.items()},
       less["predictions"], amount)
expect(less["verdicts"][0]["best"] != best and amount[less["verdicts"][0]["best"]] < amount[best], less["verdicts"])
expect("fits" not in slow["predictions"][0], slow["predictions"][0])
dense = min(amount[name] for name in amount if program.known.get(name, {"dense": True})["dense"])
smallest = min(amount, key=amount.get)
if amount[smallest] < dense:
    only = predicted(*SLOW, "--device-memory", f"{(dense - 1) / 1e9:.9f}GB")
    expect(only["verdicts"][0]["compresses"] and amount[only["verdicts"][0]["best"]] < dense
           and only["pays_below_bytes_per_second"] is None, only["verdicts"])
table = program.start(0, *GIVEN, *SLOW, "--device-memory", "1MB")
expect(table.returncode == 0 and "These do not fit into 1.00 MB: adam (" in table.stdout, table)
billions = program.start(0, "--parameters", "1.3B", *GIVEN[2:], "--rate", "1gbit", "--ranks", "4")
expect(billions.returncode == 0 and "d = 1300000000 parameters" in billions.stdout, billions)

# In one level all ranks exchange with all: 4 ranks of each of 8 hosts send 28 of 31 messages over its link, to owners
# and back, 32 chunks of 340 million float32; latency and messages are left out.
FLAT = ("--rate", "100mbit", "--latency", "0", "--message-cost", "0", "--ranks-per-node", "4", "--node-rate", "10GB/s",
        "--ranks", "32", "--levels", "flat")
(adam,) = [p for p in predicted(*FLAT)["predictions"] if p["name"] == "adam"]
over_link = 4 * 2 * 4 * 340e6 * 31 / 32 * 28 / 31 / 12.5e6
expect(abs(adam["step"]["exchange_seconds"] / over_link - 1) < 1e-4, adam, over_link)

# What nobody gave is said, with the option that gives it; a rate inside a node is asked for (see below).
expect(slow["assumed"] == {"--steps": "100000", "--warmup": "0.15", "--latency": "50us", "--message-cost": "2us",
                           "--node-latency": "1us", "--backward-overlap": "0.6", "--background-overlap": "1"},
       slow["assumed"])
GIVEN_ALL = ("--steps", "1000", "--warmup", "0.1", "--latency", "9us", "--message-cost", "1us", "--node-latency", "2us",
             "--backward-overlap", "0.5", "--background-overlap", "0.9")
expect(predicted(*SLOW, *GIVEN_ALL)["assumed"] == {}, "all is given")
said = program.start(0, *GIVEN[:4], *SLOW).stdout
expect("\nassumed   --compute 0s --steps 100000 --warmup 0.15 --latency 50us --message-cost 2us --node-latency 1us "
       "--background-overlap 1: these were neither given nor measured\n" in said, said)
expect("assumed" not in program.start(0, *GIVEN, *SLOW, *GIVEN_ALL).stdout, "all is given")


def settings_in(text):
    """{section: {key: value as written}} of what the plan says to set, and the line about levels."""
    sections, levels = {}, None
    for line in text.split("in the library:\n\n")[1].splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line.startswith("KADAM_RANKS_PER_NODE"):
            levels = line
        elif line:
            key, value = line.split(" = ")
            section[key] = value
    return sections, levels


# What to set: options of the best and of those that it leads to, as they were predicted with.
SETTINGS = ("--steps", "20000", "--warmup", "0.1", "--density", "0.001", "--background-steps", "auto")
said = program.start(0, *GIVEN, *SLOW, *SETTINGS).stdout
asked = predicted(*SLOW, *SETTINGS)
of_name = {p["name"]: p for p in asked["predictions"]}
verdict = asked["verdicts"][0]
advised = {verdict["best"], *(lead["name"] for lead in verdict["leads"])}
sections, levels = settings_in(said)
expect(sections.pop("optimizer") == {"name": f'"{of_name[verdict["best"]]["optimizer"]}"'}, said)
expect(sections == {f"optimizer.{name}": {key: json.dumps(value) for key, value in of_name[name]["options"].items()}
                    for name in advised if of_name[name]["options"]}, sections, of_name)
expect(sections["optimizer.onebit_adam"] == {"warmup_steps": "2000"}, sections)
for name in advised:
    known_options = {option["name"] for option in program.known[name]["options"]}
    expect(set(of_name[name]["options"]) <= known_options, name, of_name[name]["options"])
two = {name for name in advised if of_name[name]["levels"] == "two"}
expect(levels and levels.startswith("KADAM_RANKS_PER_NODE=2 for kadam-train, ranks_per_node = 2 in the library: "), said)
expect(set(levels.split(": ")[1].split(", ")) == two, levels, two)
tau = of_name["divisible_adam"]
expect(tau["options"]["background_steps"] == tau["background_steps"] > 1, tau)
half = program.start(0, *GIVEN, "--rate", "400gbit", "--ranks", "64").stdout
sections, levels = settings_in(half)
expect(sections == {"optimizer": {"name": '"adam"'}, "optimizer.adam": {"gradients": '"bf16"'}} and levels is None, half)

# Options reach the optimizers.
before = {p["name"]: p for p in predicted("--rate", "1gbit", "--ranks", "64")["predictions"]}
OPTIONS = ("--rate", "1gbit", "--ranks", "64", "--density", "0.001", "--background-steps", "auto", "--bits", "8")
after = {p["name"]: p for p in predicted(*OPTIONS)["predictions"]}
rounded = {p["name"]: p for p in predicted(*OPTIONS, "--set", "loco.parameters=bf16")["predictions"]}
settled = "settled_bytes_per_step"
for name, kind in program.known.items():
    options = {option["name"] for option in kind["options"]}
    if "background_steps" in options:
        expect(after[name]["background_steps"] != 4, after[name])
    if "uniform8" in kind["codes"]:
        # Of shards, parameters come back as they are: 8 + 32 bits in place of 4 + 32.
        least = 1.1 if kind["shards"] else 1.9
        expect(after[name][settled] > least * before[name][settled], "bits", after[name], before[name])
    if kind["sparse"]:
        expect(after[name][settled] < before[name][settled], "density", after[name], before[name])
expect(rounded["loco"][settled] < after["loco"][settled], "parameters in bf16")

table = program.start(0, *GIVEN, "--rate", "1gbit")
expect(table.returncode == 0 and "On 4096 ranks: " in table.stdout and "Compression pays below" in table.stdout, table)

with tempfile.TemporaryDirectory() as folder:
    saved = os.path.join(folder, "machine.json")
    picture = os.path.join(folder, "our plan's.svg")
    first = program.start(0, *GIVEN, "--rate", "1gbit", "--latency", "80us", "--save", saved, "--plot", picture,
                          "--json")
    expect(first.returncode == 0, first)
    again = program.start(0, "--parameters", "340M", "--compute", "130ms", "--machine", saved, "--json")
    expect(again.returncode == 0, again)
    for one, other in zip(json.loads(first.stdout)["predictions"], json.loads(again.stdout)["predictions"], strict=True):
        expect(one["name"] == other["name"] and one["bytes_per_step"] == other["bytes_per_step"]
               and abs(one["step"]["seconds"] / other["step"]["seconds"] - 1) < 1e-9, one, other)
    expect(open(picture, encoding="utf-8").read().count("<svg") == 1 and first.stderr == "", first.stderr)
    # Without a Python that draws it is said how to draw it.
    os.remove(picture)
    undrawn = program.start(0, *GIVEN, "--rate", "1gbit", "--plot", picture, environment={"KADAM_PYTHON": "none"})
    expect(undrawn.returncode == 0 and not os.path.exists(picture) and undrawn.stderr.count("\n") == 1, undrawn)
    words = shlex.split(undrawn.stderr[undrawn.stderr.index("kadam-report --plan") :])[:5]
    reporter = pathlib.Path(sys.argv[1]).with_name("kadam-report")
    expect(Program([reporter]).start(0, *words[1:]).returncode == 0 and os.path.exists(picture), words)

REFUSED = {
    "--node-rate is needed with 4 ranks on a node": [*GIVEN, "--rate", "1gbit", "--ranks-per-node", "4"],
    "the rate of the network is unknown": ["--parameters", "5M"],
    "--parameters is needed": ["--rate", "1gbit"],
    "--rate 1foo: expected a rate": ["--parameters", "5M", "--rate", "1foo"],
    "--device-memory 40: expected an amount of memory": [*GIVEN, "--rate", "1gbit", "--device-memory", "40"],
    "--compute -1: expected seconds": ["--parameters", "5M", "--rate", "1gbit", "--compute", "-1"],
    "no optimizer 'sgd'": [*GIVEN, "--rate", "1gbit", "--set", "sgd.bits=1"],
    "expected 1, got 4": [*GIVEN, "--rate", "1gbit", "--set", "onebit_adam.bits=4"],
    "nothing would be left": [*GIVEN, "--rate", "1gbit", "--set", "onebit_adam.warmup_steps=100000"],
    "overlap of the backward pass from 0 to 1": [*GIVEN, "--rate", "1gbit", "--backward-overlap", "2"],
    "cannot be read": ["--machine", "/nowhere.json"],
    "expected a name that ends in": [*GIVEN, "--rate", "1gbit", "--plot", "plan.pdf"],
    "expected best, flat or two": [*GIVEN, "--rate", "1gbit", "--levels", "three"],
}
for words, wrong in REFUSED.items():
    refused = program.start(0, *wrong)
    expect(refused.returncode == 2 and words in refused.stderr and refused.stderr.count("\n") == 1
           and refused.stdout == "", wrong, refused)
