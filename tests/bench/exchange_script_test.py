# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of scripts/bench_exchange.sh, with a stand-in for the lab: exchange_script_test.py FOLDER_OF_SCRIPTS"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SCRIPTS / "bench_exchange"))
import main  # noqa: E402
import report  # noqa: E402

# Writes down how it is called; answers as kadam-bench would, a tenth of the time at 1gbit. Two latencies are 10 ms.
STAND_IN = """#!/usr/bin/env -S python3 -IS
import json, pathlib, sys
folder = pathlib.Path(sys.argv[0]).parent
with open(folder / "calls", "a") as file:
    print(" ".join(sys.argv[1:]), file=file)
if sys.argv[1] == "shape":
    (folder / "rate").write_text(sys.argv[3])
    sys.exit()
slower = 1 if sys.argv[1] == "with" or (folder / "rate").read_text() == "1gbit" else 10
def says(exchange, seconds, count, ratio):
    print(json.dumps({"exchange": exchange, "elements": elements, "ranks": 4, "seconds": seconds * slower,
                      "repetitions": 3, "bytes_sent": count, "interface_bytes": count + 100000,
                      "ratio_to_limit": ratio, "wire_limit_seconds": seconds * slower / ratio,
                      "round_trip_seconds": 0.01}))
elements = int(sys.argv[sys.argv.index("--elements") + 1])
only = [word for name, word in zip(sys.argv, sys.argv[1:]) if name == "--only"]
algorithm = sys.argv[sys.argv.index("--mpirun-args") + 1].split()[-1] if "--mpirun-args" in sys.argv else "0"
print("Warning: something of the launcher's")
if sys.argv[1] == "with":
    says("dense mean, float32", 0.0305, 600000, 9.5)
    says("compressed mean, 1 bit", 0.011, 19000, 70.0)
elif only == ["MPI all-reduce"]:
    says("MPI all-reduce, float32", 2.0 + abs(int(algorithm) - 4), 6000000, 1.2)
elif only == ["dense mean, float32"]:
    says("dense mean, float32", 2.5, 6000000, 1.05)
elif only == ["dense mean, bf16"]:
    says("dense mean, bf16", 1.0, 3000000, 1.25)
else:
    says("compressed mean, 1 bit", 0.08, 190000, 1.125)
    says("compressed mean, 4 bit", 0.08, 190000, 1.5)
    says("sparse mean, own, 1 %", 0.04, 170000, 1.5)
    says("sparse mean, own, 1/1024", 0.04, 160000, 1.6)
"""


def said_by_main():
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as noise:
        main.main()
    expect(noise.getvalue() == "", "noise where there is no terminal:", noise.getvalue())
    return said.getvalue()


def stops(function):
    """What it says when it stops."""
    try:
        function()
    except SystemExit as stop:
        return str(stop)
    sys.exit(f"{function.__name__} did not stop")


def test_calls(calls):
    expect(calls[0] == "shape --rate 100mbit" and calls[11] == "shape --rate 1gbit", calls)
    expect(len(calls) == 2 * (1 + 7 + 2 + 1) + 1, "7 algorithms, 2 dense means, the others; hosts far apart", calls)
    expect("--mpirun-args" not in calls[1], "MPI's own choice is made with options", calls[1])
    ring = calls[5]
    expect("coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4 -- kadam-bench " in ring, ring)
    expect("--ranks-per-host 1" in ring and "--rate 100mbit" in ring and "--seconds 5 " in ring, ring)
    expect("--mpirun-args" not in calls[10] and "--seconds 15 " in calls[10], calls[10])
    far = calls[22]
    expect(far.startswith("with --name far") and " --hosts 4 --rate 1gbit --delay 5ms -- " in far, far)
    expect("--elements 100000 " in far and "--only dense mean, bf16 --only compressed mean " in far, far)


def test_text(text):
    for wanted in ("4 ranks on 4 hosts of a network lab, d = 25,000,000",
                   "| MPI all-reduce, basic linear | 50 | 3 | 6 | 6.1 | 1.20 | 0.4 | 0.2 |",
                   "| MPI all-reduce, ring | 20 | 3 | 6 | 6.1 | 1.20 | 1 | 0.5 |",
                   "| compressed mean, 1 bit | 0.8 | 3 | 0.19 | 0.29 | 1.12 | 25 | 12.5 |",
                   "| compressed mean, 1 bit | 0.08 | 3 | 0.19 | 0.29 | 1.12 | 25 | 12.5 |",
                   "| dense mean, float32 | 100mbit | to limit | 1.05 | at most 1.1 | yes |",
                   "| dense mean, bf16 | 100mbit | to limit | 1.25 | at most 1.1 | no |",
                   "| compressed mean, 1 bit | 100mbit | to limit | 1.12 | at most 1.15 | yes |",
                   "| compressed mean, 1 bit | 1gbit | to limit | 1.12 | at most 2 | yes |",
                   "| compressed mean, 4 bit | 1gbit | to limit | 1.50 | at most 1.15 | no |",
                   "| sparse mean, own, 1 % | 1gbit | to limit | 1.50 | at most 1.2 | no |",
                   "| sparse mean, own, 1/1024 | 1gbit | to limit and 2 latencies | 1.14 | at most 1.2 | yes |",
                   "| sparse mean, own, 1/1024 | 100mbit | to limit and 2 latencies | 1.54 | at most 1.2 | no |",
                   "At 1gbit+5ms from host to host, one way, d = 100,000; a round trip takes 10 ms:",
                   "| compressed mean, 1 bit | 11 | 3 | 0.019 | 1.10 |",
                   "| dense mean, float32 | 1gbit+5ms | round trips, d = 100,000 | 3.05 | at most 3 | no |",
                   "| compressed mean, 1 bit | 1gbit+5ms | round trips, d = 100,000 | 1.10 | at most 3 | yes |",
                   "| compressed mean, 1 bit | 100mbit | × MPI all-reduce, ring | 25 | at least 20 | yes |"):
        expect(wanted in " ".join(text.split()), wanted, "is missing in", text)
    expect(text.count("at least 20") == 1, "20 times are wanted at 100mbit alone", text)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    lab = folder / "netlab"
    lab.write_text(STAND_IN)
    lab.chmod(0o755)
    out = folder / "results" / "exchange.jsonl"
    sys.argv = ["main.py", "--netlab", str(lab), "--program", "kadam-bench", "--rates", "100mbit,1gbit",
                "--algorithms", "all", "--elements", "25000000", "--hosts", "4", "--ranks-per-host", "1",
                "--seconds", "5", "--repetitions", "3", "--out", str(out)]
    test_text(said_by_main())
    test_calls((folder / "calls").read_text().splitlines())
    figures = [json.loads(line) for line in out.read_text().splitlines()]
    expect(len(figures) == 2 * 13 + 2, figures)
    expect({figure["rate"] for figure in figures} == {"100mbit", "1gbit", "1gbit+5ms"}, figures)
    expect(figures[4]["exchange"] == "MPI all-reduce, ring" and figures[4]["hosts"] == 4, figures[4])

    document = folder / "performance.md"
    document.write_text("before\n<!-- bench_exchange -->\nold\n<!-- /bench_exchange -->\nafter\n")
    report.DOCUMENT = document
    (folder / "calls").unlink()
    sys.argv += ["--rates", "1gbit", "--elements", "1000", "--algorithms", "ring,segmented_ring", "--write"]
    text = said_by_main()
    expect("at most 1" not in text, "short vectors are measured by what long ones should do", text)
    expect(len((folder / "calls").read_text().splitlines()) == 1 + 2 + 2 + 1 + 1, "two algorithms are wanted")
    sys.argv[sys.argv.index("ring,segmented_ring")] = "ring,square"
    expect("no algorithm square; the algorithms are its_choice" in stops(main.main), "no word of what there is")
    sys.argv[sys.argv.index("ring,square")] = "ring"
    expect(document.read_text() == f"before\n<!-- bench_exchange -->\n{text}\n<!-- /bench_exchange -->\nafter\n",
           document.read_text())

    answers = 'if sys.argv[1] == "with":\n'
    refuses = '    print("skipped: no tun", file=sys.stderr)\n    sys.exit(77)\n'
    lab.write_text(STAND_IN.replace(answers, answers + refuses))
    sys.argv.remove("--write")
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as noise:
        main.main()
    expect("round trips" not in said.getvalue() and noise.getvalue() == "kadam: skipped: no tun\n", said, noise)

    lab.write_text("#!/bin/sh\necho 'kadam-bench: not enough memory' >&2\nexit 3\n")
    expect("code 3: kadam-bench: not enough memory" in stops(main.main), "no word of why it failed")

for wrong in (["--rates", "fast"], ["--elements", "0"], ["--out"], ["--hosts", "1"], ["--program", "/nowhere"],
              ["--speed"]):
    refused = subprocess.run([SCRIPTS / "bench_exchange.sh", *wrong], capture_output=True, text=True, check=False)
    expect(refused.returncode == 1 and refused.stderr.count("\n") == 1 and refused.stdout == "", wrong, refused)
