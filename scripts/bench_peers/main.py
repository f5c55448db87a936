# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kadam-bench and its peers in turn and prints how they compare. Called by scripts/bench_peers.sh."""
import argparse
import importlib.metadata
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

REPETITIONS = 7
NOTABLE_SHARE = 0.05
LIMIT = "limit: in-place scale"
# A kernel of Kadam and its counterpart in PyTorch or DeepSpeed.
PAIRS = (
    (LIMIT, LIMIT),
    ("adam_update", "torch Adam, fused"),
    ("adam_update", "torch Adam, foreach"),
    ("adam_update", "DeepSpeed CPUAdam"),
    *((f"top-k of all, {density}", f"{peer}, {density}")
      for density in ("1 %", "0.1 %")
      for peer in ("torch.topk of g.abs()", "torch.topk without the abs", "torch.topk of g.abs(), a row per thread")),
    ("encode sign, momentum fused", "torch: momentum, error feedback, sign, pack"),
    ("encode sign, momentum fused", "torch: error feedback, sign, pack"),
)

LEGEND = """\
ms: median of the rounds, with the least and the most of them. Times faster: the peer's time divided by Kadam's in the \
same round, with median, least and most. The first row is the memory's limit as each program reaches it."""


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench_peers.sh", description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--elements", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def kadam_command(arguments):
    kernels = dict.fromkeys(kadam for kadam, _ in PAIRS if kadam != LIMIT)
    return [arguments.program, "kernels", "--elements", str(arguments.elements), "--threads", str(arguments.threads),
            "--repetitions", str(REPETITIONS), "--json", *(word for name in kernels for word in ("--only", name))]


def peers_command(arguments):
    return [sys.executable, str(pathlib.Path(__file__).with_name("peers.py")), "--elements", str(arguments.elements),
            "--threads", str(arguments.threads), "--repetitions", str(REPETITIONS)]


def milliseconds_of(command, threads):
    """{kernel: milliseconds} from the output of a command."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        sys.exit(f"kadam: {' '.join(command)}\nfailed with code {done.returncode}: {last[0]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["kernel"]: line["milliseconds"] for line in lines}


def processor_seconds():
    """Processor seconds that all programs of this machine have used; None where the system does not tell."""
    try:
        with open("/proc/stat", encoding="utf-8") as lines:
            user, nice, system = (int(word) for word in lines.readline().split()[1:4])
    except OSError:
        return None
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def share_of_others(before, after, own, seconds):
    """The share of the processors' time that other programs used."""
    if before is None or seconds <= 0:
        return 0.0
    return max(0.0, after - before - own) / (seconds * os.cpu_count())


class Progress:
    """One line on a terminal, overwritten; silent elsewhere."""

    def __init__(self, rounds):
        self.rounds = rounds

    def says(self, done, program):
        if sys.stderr.isatty():
            print(f"\r\033[Kround {done + 1} of {self.rounds}: {program}", end="", file=sys.stderr, flush=True)

    def ends(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def measure(arguments):
    """Pairs (milliseconds of Kadam, of the peers), one per round, and the processor share of other programs."""
    progress = Progress(arguments.rounds)
    rounds = []
    start, before = time.monotonic(), processor_seconds()
    for done in range(arguments.rounds):
        progress.says(done, "Kadam")
        kadam = milliseconds_of(kadam_command(arguments), arguments.threads)
        progress.says(done, "PyTorch and DeepSpeed")
        rounds.append((kadam, milliseconds_of(peers_command(arguments), arguments.threads)))
    progress.ends()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = used.ru_utime + used.ru_stime
    return rounds, share_of_others(before, processor_seconds(), own, time.monotonic() - start)


def spread_text(values):
    middle, least, most = (f"{value:.3g}" if value < 1000 else f"{value:.0f}"
                           for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {most})" if len(values) > 1 else middle


def cells_of(kadam, peer, rounds):
    own = [one[kadam] for one, _ in rounds]
    others = [other[peer] for _, other in rounds if peer in other]
    if not others:
        return kadam, spread_text(own), peer, "not available here", "-"
    return (kadam, spread_text(own), peer, spread_text(others),
            spread_text([other / one for one, other in zip(own, others)]))


def table_of(rounds):
    seen = set().union(*(other for _, other in rounds))
    rows = [("Kadam", "ms", "peer", "ms", "times faster")]
    rows += [cells_of(kadam, peer, rounds) for kadam, peer in PAIRS if peer in seen or peer.startswith("DeepSpeed")]
    return report.markdown(rows)


def versions():
    known = []
    for name, title in (("torch", "PyTorch"), ("deepspeed", "DeepSpeed")):
        try:
            known.append(f"{title} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            known.append(f"no {title}")
    return ", ".join(known)


def heading(arguments, others):
    day, commit = report.today_and_commit()
    plural = "" if arguments.threads == 1 else "s"
    disturbed = (f" **Not a quiet machine**: other programs used {100 * others:.0f} % of the processors meanwhile."
                 if others > NOTABLE_SHARE else "")
    return (f"{day}, {report.processor()}, {os.cpu_count()} cores, {arguments.threads} thread{plural}, "
            f"d = {report.power_of_two(arguments.elements)}, float32, {arguments.rounds} rounds, {versions()}, "
            f"{commit}.{disturbed}")


def main():
    arguments = parse()
    rounds, others = measure(arguments)
    text = f"{heading(arguments, others)}\n\n{table_of(rounds)}\n\n{LEGEND}\n"
    print(text, end="")
    if arguments.write:
        report.put_between_markers(report.DOCUMENT, "bench_peers", text)


if __name__ == "__main__":
    main()
