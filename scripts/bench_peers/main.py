# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kadam-bench and its peers in turn and prints how they compare. Called by scripts/bench_peers.sh."""
import argparse
import importlib.metadata
import os
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402
import turns  # noqa: E402

REPETITIONS = 7
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


def measure(arguments):
    """Pairs (milliseconds of Kadam, of the peers), one per round, and the processor share of other programs."""
    commands = {"Kadam": kadam_command(arguments), "PyTorch and DeepSpeed": peers_command(arguments)}
    rounds, others = turns.measure(commands, arguments.rounds, arguments.threads)
    return [tuple({kernel: record["milliseconds"] for kernel, record in kernels.items()} for kernels in one.values())
            for one in rounds], others


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
    return (f"{day}, {report.processor()}, {os.cpu_count()} cores, {arguments.threads} thread{plural}, "
            f"d = {report.power_of_two(arguments.elements)}, float32, {arguments.rounds} rounds, {versions()}, "
            f"{commit}.{report.disturbance([others])}")


def main():
    arguments = parse()
    rounds, others = measure(arguments)
    text = f"{heading(arguments, others)}\n\n{table_of(rounds)}\n\n{LEGEND}\n"
    print(text, end="")
    if arguments.write:
        report.put_between_markers(report.DOCUMENT, "bench_peers", text)


if __name__ == "__main__":
    main()
