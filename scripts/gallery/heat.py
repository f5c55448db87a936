# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The story of examples/heat_fortran: on one machine, and on the hosts of a lab."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("bench_network", "internal")]
from cases import Bench  # noqa: E402
from lab import Lab, reason  # noqa: E402
from report import markdown  # noqa: E402
from tables import times  # noqa: E402

RANKS = 4
OPTIMIZERS = ("adam", "efficient_adam", "onebit_adam")
SHOWN = "onebit_adam"  # in the picture and the output
ONE_MACHINE = "one machine"
RATES = ("100mbit", "10mbit")
PICTURE = pathlib.Path(__file__).parents[2] / "examples" / "heat_fortran" / "picture.py"
NUMBER = r" *([-+.\dE]+)"
SAID = {"solver_ms": rf"solver{NUMBER} ms", "training_ms": rf"training{NUMBER} ms", "error": rf"surrogate{NUMBER}",
        "unchanged": rf"field unchanged{NUMBER}", "sent": rf"and rank:{NUMBER} B"}
HEAD = ("ranks on", "optimizer", "solver, ms per jump", "training, ms per jump", "sent per training step",
        "less than adam", "error of a jump", "field unchanged")
LEGEND = """\
A jump is 10 time steps of the solver, after which come 4 steps of training; means over 1200 jumps, of rank 0. Sent: \
by a rank, mean over the whole run, of which `onebit_adam` takes the first 400 of 4800 steps densely. Error: of one \
jump from an unseen start, relative; beside it that of a field that does not change. Halos of the solver take the same \
network."""


def figures(text):
    """What the program says, as numbers."""
    found = {key: re.search(pattern, text) for key, pattern in SAID.items()}
    missing = [key for key, match in found.items() if match is None]
    if missing:
        sys.exit(f"kadam: The example does not say {', '.join(missing)}: {text.strip()}")
    return {key: float(match[1]) for key, match in found.items()}


def measured(command, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = subprocess.run([*command, folder], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        return {"failed": reason(done.stdout + done.stderr, done.returncode)}
    (folder / "output.txt").write_text(done.stdout, encoding="utf-8")
    return figures(done.stdout)


def folder_of(output, place, optimizer):
    return output / place.replace(" ", "_") / optimizer


def measure(story, arguments, records, output):
    """[(place, optimizer, record)]. Without a lab only on one machine."""
    program = pathlib.Path(arguments.program).with_name("example_heat")
    lab = Lab(arguments.netlab, story.hosts)
    bench = Bench(lab, records, str(program), "", "", 0, output)
    rows = []
    for place in (ONE_MACHINE, *(RATES if arguments.netlab else ())):
        if place != ONE_MACHINE:
            lab.shape(place)
        for optimizer in OPTIMIZERS:
            words = [str(program), optimizer]
            command = ["mpirun", "-n", str(RANKS), *words] if place == ONE_MACHINE else lab.run_command(words)
            folder = folder_of(output, place, optimizer)
            rows.append((place, optimizer, bench.case(
                {"workload": "heat", "method": optimizer, "rate": place, "made_by": bench.made_by(words)},
                lambda command=command, folder=folder: measured(command, folder))))
    return rows


def cells(place, optimizer, record, dense):
    name = place if place == ONE_MACHINE else f"4 hosts, {place}"
    if "failed" in record:
        return (name, optimizer, "failed", *[""] * (len(HEAD) - 3))
    return (name, optimizer, f"{record['solver_ms']:.2f}", f"{record['training_ms']:.2f}", f"{record['sent']:.0f} B",
            times(dense, record["sent"]), f"{record['error']:.5f}", f"{record['unchanged']:.5f}")


def table(rows):
    dense = next((record["sent"] for _, optimizer, record in rows if optimizer == "adam" and "sent" in record), None)
    failed = [f"\n{optimizer}, {place}: {record['failed']}" for place, optimizer, record in rows if "failed" in record]
    return "\n".join([markdown([HEAD, *(cells(*row, dense) for row in rows)]), *failed, "", LEGEND])


def output_of(output):
    """What the shown run says on one machine, as a block of Markdown."""
    return f"```\n{(folder_of(output, ONE_MACHINE, SHOWN) / 'output.txt').read_text(encoding='utf-8').strip()}\n```"


def draw(file, output):
    """By the example's own program, of the shown run."""
    subprocess.run([sys.executable, PICTURE, folder_of(output, ONE_MACHINE, SHOWN), file], check=True)
