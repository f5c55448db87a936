# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the results of a run of scripts/gpu_check.sh as Markdown, also those of a run that has not ended."""
import argparse
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

# A kernel of Kadam and its counterpart in PyTorch.
PAIRS = (
    ("limit: in-place scale", "limit: in-place scale"),
    ("copy", "copy"),
    ("adam_update", "torch Adam, fused"),
    ("adam_update", "torch Adam, foreach"),
    *((f"top-k of all, {density}", f"{peer}, {density}")
      for density in ("1 %", "0.1 %") for peer in ("torch.topk of g.abs()", "torch.topk without the abs")),
    ("encode sign, momentum fused", "torch: momentum, error feedback, sign, pack"),
    ("encode sign, momentum fused", "torch: error feedback, sign, pack"),
)


def parse():
    parser = argparse.ArgumentParser(prog="scripts/gpu_check.sh --report", description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def objects(path):
    """The JSON objects of a file, one per line, without a last one that was cut off."""
    if not path.exists():
        return []
    whole = path.read_text(encoding="utf-8", errors="replace")
    return [json.loads(line) for line in whole[:whole.rfind("\n") + 1].splitlines() if line.startswith("{")]


def files(folder, pattern):
    """Sorted (numbers in its name, its objects) for each file that fits the pattern and has objects."""
    found = [(tuple(map(int, re.findall(r"\d+", path.stem))), objects(path)) for path in folder.glob(pattern)]
    return sorted((numbers, lines) for numbers, lines in found if lines)


def settings(folder):
    path = folder / "settings"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return dict(re.findall(r"^(\w+)='(.*)'$", text, re.M))


def gpu(folder, said):
    """Name, driver and clocks of the first GPU in nvidia-smi's output, as text."""
    path = folder / "gpu.csv"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if len(lines) < 2:
        return f"a device of {said.get('backend', 'an unknown kind')}"
    values = dict(zip((name.split(" [")[0].strip() for name in lines[0].split(",")),
                      (value.strip() for value in lines[1].split(","))))
    return (f"{values.get('name')}, driver {values.get('driver_version')}, at most "
            f"{values.get('clocks.max.sm') or values.get('clocks.max.current.sm')} "
            f"and {values.get('clocks.max.memory') or values.get('clocks.max.current.memory')} (memory)")


def states(folder):
    """{unit: passed, failed or begun, and the reason}."""
    found = {}
    for path in sorted((folder / "state").glob("*")):
        words = path.read_text(encoding="utf-8").split(maxsplit=2)
        if words and path.suffix != ".new":
            found[path.name] = (words[0], words[2].strip() if len(words) > 2 else "")
    return found


def tests_text(folder, found):
    """Counts tests by GoogleTest's own lines, so that those of a program that was cut off count as well."""
    ended = {unit: state for unit, state in found.items() if (folder / f"{unit}.out").exists()}
    if not ended:
        return "No tests were run."
    passed, failed, skipped = 0, set(), 0
    for unit in ended:
        said = (folder / f"{unit}.out").read_text(encoding="utf-8", errors="replace")
        said = re.sub(r"\x1b\[[0-9;]*m", "", said)  # mpirun gives its ranks a terminal, where GoogleTest's words have colours
        passed += len(re.findall(r"^\[       OK \]", said, re.M))
        failed.update(re.findall(r"^\[  FAILED  \] ([^\s,]+).* \(\d+ ms\)$", said, re.M))
        skipped += len(re.findall(r"^\[  SKIPPED \] \S+ \(", said, re.M))
    text = f"Tests on it: {passed} passed, {len(failed)} failed"
    if failed:
        text += f" ({', '.join(sorted(failed))})"
    if skipped:
        text += f", {skipped} skipped"
    cut = [unit for unit, (state, _) in ended.items() if state == "begun"]
    return text + (f"; cut off: {', '.join(cut)}." if cut else ".")


def rate(one):
    """GB/s; None for a small problem."""
    moved = one["bytes_per_element"] * one["elements"]
    return moved / one["milliseconds"] / 1e6 if moved else None


def kernels_table(sizes):
    """A row for each kernel of any size; three columns for each size."""
    head = ["kernel", "B/element"]
    for (size,), _ in sizes:
        head += [f"d = {report.power_of_two(size)}: ms", "GB/s", "to limit"]
    by_size = [{one["kernel"]: one for one in lines} for _, lines in sizes]
    rows = [tuple(head)]
    for name in dict.fromkeys(name for kernels in by_size for name in kernels):
        some = next(kernels[name] for kernels in by_size if name in kernels)
        row = [name, f"{some['bytes_per_element']:.2f}" if some["bytes_per_element"] else "-"]
        for kernels in by_size:
            one = kernels.get(name)
            own = rate(one) if one else None
            ratio = one["ratio_to_limit"] if one else None
            row += [f"{one['milliseconds']:.4g}" if one else "-", f"{own:.0f}" if own else "-",
                    f"{ratio:.2f}" if ratio else "-"]
        rows.append(tuple(row))
    return report.markdown(rows)


def steps_table(runs):
    """A row for each optimizer; columns for each number of ranks and tensors."""
    head = ["optimizer"]
    for (ranks, tensors), _ in runs:
        head += [f"{ranks} rank{'s' * (ranks > 1)}, {tensors} tensor{'s' * (tensors > 1)}: ms", "launches", "fences"]
    rows = [tuple(head)]
    by_run = [{one["optimizer"]: one for one in lines} for _, lines in runs]
    for name in dict.fromkeys(name for steps in by_run for name in steps):
        row = [name]
        for steps in by_run:
            one = steps.get(name)
            row += [f"{one['milliseconds']:.4g}", f"{one['launches']:.3g}", f"{one['fences']:.3g}"] if one else "---"
        rows.append(tuple(row))
    return report.markdown(rows)


def peers_table(kernels, peers):
    rows = [("Kadam", "ms", "PyTorch", "ms", "times faster")]
    for kadam, peer in PAIRS:
        if kadam in kernels and peer in peers:
            own, other = kernels[kadam]["milliseconds"], peers[peer]["milliseconds"]
            rows.append((kadam, f"{own:.4g}", peer, f"{other:.4g}", f"{other / own:.3g}"))
    return report.markdown(rows) if len(rows) > 1 else None


def exchange_table(ways):
    rows = [("exchange, 2 ranks on one GPU", "elements", "way", "ms", "MB sent", "encode ms", "decode ms")]
    for way, lines in ways:
        for one in lines:
            rows.append((one["exchange"], f"{one['elements']:,}", way, f"{1e3 * one['seconds']:.4g}",
                         f"{one['bytes_sent'] / 1e6:.4g}", f"{1e3 * one['encode_seconds']:.3g}",
                         f"{1e3 * one['decode_seconds']:.3g}"))
    return report.markdown(rows)


def stages_text(found):
    failed = [f"{unit} ({why})" if why else unit for unit, (state, why) in found.items() if state == "failed"]
    return f"Failed: {'; '.join(failed)}." if failed else None


def text_of(folder):
    said = settings(folder)
    found = states(folder)
    kernels = files(folder, "kernels-*.jsonl")
    parts = [f"{said.get('measured', 'no date')}, {gpu(folder, said)}, float32, {said.get('commit', 'commit unknown')}. "
             f"{tests_text(folder, found)}", stages_text(found)]
    if kernels:
        parts.append(kernels_table(kernels))
    steps = files(folder, "steps-*.jsonl")
    if steps:
        sizes = sorted({one["elements"] for _, lines in steps for one in lines})
        parts += [f"A step of each optimizer, d = {', '.join(map(report.power_of_two, sizes))}:", steps_table(steps)]
    for (size,), lines in files(folder, "torch-*.jsonl"):
        own = next((one for numbers, one in kernels if numbers == (size,)), [])
        parts.append(peers_table({one["kernel"]: one for one in own}, {one["kernel"]: one for one in lines}))
    ways = [(way, objects(folder / f"exchange-{way}.jsonl")) for way in ("staged", "direct")]
    if any(lines for _, lines in ways):
        parts.append(exchange_table(ways))
    return "\n\n".join(filter(None, parts)) + "\n"


def main():
    arguments = parse()
    text = text_of(arguments.folder)
    print(text, end="")
    if arguments.write:
        report.put_between_markers(report.DOCUMENT, "gpu_check", text)


if __name__ == "__main__":
    main()
