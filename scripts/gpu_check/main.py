# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/gpu_check.sh found out, as Markdown."""
import argparse
import json
import pathlib
import sys
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import report  # noqa: E402

# A kernel of Kadam and what stands in its place in PyTorch.
PAIRS = (
    ("limit: in-place scale", "limit: in-place scale"),
    ("copy", "copy"),
    ("adam_update", "torch Adam, fused"),
    ("adam_update", "torch Adam, foreach"),
    ("top-k of all, 1 %", "torch.topk of g.abs(), 1 %"),
    ("top-k of all, 1 %", "torch.topk without the abs, 1 %"),
    ("top-k of all, 0.1 %", "torch.topk of g.abs(), 0.1 %"),
    ("top-k of all, 0.1 %", "torch.topk without the abs, 0.1 %"),
)


def parse():
    parser = argparse.ArgumentParser(prog="scripts/gpu_check.sh", description=__doc__)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--elements", type=int, required=True)
    parser.add_argument("--figures", type=pathlib.Path, required=True)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def read(path):
    """The JSON objects of a file, by their kernel; none where there is no file."""
    if not path.exists():
        return {}
    objects = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return {one["kernel"]: one for one in objects}


def tests_text(path):
    if not path.exists():
        return "The tests were not run."
    suite = xml.etree.ElementTree.parse(path).getroot()
    failed, skipped = (int(suite.get(key, "0")) for key in ("failures", "skipped"))
    failed_names = ", ".join(case.get("name") for case in suite.iter("testcase") if case.get("status") == "fail")
    passed = int(suite.get("tests")) - failed - skipped - int(suite.get("disabled", "0"))
    return (f"Tests on it: {passed} passed, {failed} failed{f' ({failed_names})' if failed else ''}"
            f"{f', {skipped} skipped' if skipped else ''}.")


def rate(one):
    """GB/s; None for a small problem."""
    moved = one["bytes_per_element"] * one["elements"]
    return moved / one["milliseconds"] / 1e6 if moved else None


def kernels_table(kernels):
    copy = rate(kernels["copy"])
    rows = [("kernel", "ms", "spread", "B/element", "GB/s", "to copy")]
    for one in kernels.values():
        own = rate(one)
        rows.append((one["kernel"], f"{one['milliseconds']:.4g}", f"{100 * one['spread']:.1f} %",
                     *((f"{one['bytes_per_element']:.2f}", f"{own:.0f}", f"{own / copy:.2f}") if own else "---")))
    return report.markdown(rows)


def peers_table(kernels, peers):
    rows = [("Kadam", "ms", "PyTorch", "ms", "times faster")]
    for kadam, peer in PAIRS:
        if kadam in kernels and peer in peers:
            own, other = kernels[kadam]["milliseconds"], peers[peer]["milliseconds"]
            rows.append((kadam, f"{own:.4g}", peer, f"{other:.4g}", f"{other / own:.3g}"))
    return report.markdown(rows)


def main():
    arguments = parse()
    kernels = read(arguments.figures / "kernels.jsonl")
    peers = read(arguments.figures / "peers.jsonl")
    if "copy" not in kernels:
        sys.exit(f"kadam: {arguments.figures / 'kernels.jsonl'} has no measurements")
    day, commit = report.today_and_commit()
    parts = [f"{day}, {arguments.gpu}, d = {report.power_of_two(arguments.elements)}, float32, {commit}. "
             f"{tests_text(arguments.figures / 'tests.xml')}", kernels_table(kernels)]
    if peers:
        parts.append(peers_table(kernels, peers))
    text = "\n\n".join(parts) + "\n"
    print(text, end="")
    if arguments.write:
        report.put_between_markers(report.DOCUMENT, "gpu_check", text)


if __name__ == "__main__":
    main()
