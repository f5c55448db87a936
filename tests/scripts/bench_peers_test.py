# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of scripts/bench_peers.sh, with stand-ins for both programs: bench_peers_test.py FOLDER_OF_SCRIPTS"""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SCRIPTS / "bench_peers"))
import main  # noqa: E402
import report  # noqa: E402
import load  # noqa: E402

# Prints its milliseconds times the number of its runs so far.
STAND_IN = """#!/usr/bin/env python3
import json, pathlib, sys
runs = pathlib.Path(sys.argv[0] + ".runs")
runs.write_text((runs.read_text() if runs.exists() else "") + "x")
for name, milliseconds in MILLISECONDS.items():
    print(json.dumps({"kernel": name, "milliseconds": milliseconds * len(runs.read_text())}))
"""


def program(path, milliseconds):
    path.write_text(STAND_IN.replace("MILLISECONDS", repr(milliseconds)))
    path.chmod(0o755)
    return str(path)


def stops(function, *arguments):
    """What it says when it stops."""
    try:
        function(*arguments)
    except SystemExit as stop:
        return str(stop)
    sys.exit(f"{function.__name__} did not stop")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    own = program(folder / "kadam-bench", {kernel: 2.0 for kernel, _ in main.PAIRS})
    theirs = program(folder / "peers", {main.LIMIT: 2.0, "torch Adam, fused": 3.0, "torch.topk of g.abs(), 1 %": 100.0})
    main.peers_command = lambda arguments: [theirs]
    sys.argv = ["main.py", "--program", own, "--elements", "1000", "--threads", "2", "--rounds", "3"]

    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as noise:
        main.main()
    text = said.getvalue()
    expect(noise.getvalue() == "", "noise where there is no terminal:", noise.getvalue())
    for wanted in ("2 threads, d = 1,000", "3 rounds",
                   "| adam_update | 4 (2 to 6) | torch Adam, fused | 6 (3 to 9) | 1.5 (1.5 to 1.5) |",
                   "| top-k of all, 1 % | 4 (2 to 6) | torch.topk of g.abs(), 1 % | 200 (100 to 300) | 50 (50 to 50) |",
                   "| adam_update | 4 (2 to 6) | DeepSpeed CPUAdam | not available here | - |"):
        expect(wanted in " ".join(text.split()), wanted, "is missing in", text)
    expect("foreach" not in text, "a peer that was not measured has a row", text)

    # Between markers, and again.
    document = folder / "performance.md"
    document.write_text("before\n<!-- bench_peers -->\nold\n<!-- /bench_peers -->\nafter\n")
    report.DOCUMENT = document
    sys.argv.append("--write")
    for _ in range(2):
        with contextlib.redirect_stdout(io.StringIO()):
            main.main()
        written = document.read_text()
        expect(written.startswith("before\n<!-- bench_peers -->\n2") and "old" not in written, written)
        expect(written.endswith("<!-- /bench_peers -->\nafter\n") and written.count("adam_update") == 2, written)
    document.write_text("no markers\n")
    expect("has no place" in stops(report.put_between_markers, document, "bench_peers", "table"), "no word of markers")
    expect(document.read_text() == "no markers\n", "a document without markers was changed")

    (folder / "kadam-bench").write_text("#!/bin/sh\necho 'kadam-bench: not enough memory' >&2\nexit 3\n")
    expect("code 3: kadam-bench: not enough memory" in stops(main.main), "no word of why it failed")

expect(load.share_of_others(100.0, 150.0, 30.0, 10.0 / load.os.cpu_count()) == 2.0, "(50 - 30) of 10 seconds")
expect(load.share_of_others(100.0, 110.0, 30.0, 10.0) == 0.0 and load.share_of_others(None, None, 1.0, 1.0) == 0.0)

for wrong in (["--rounds", "0"], ["--elements"], ["--program", "/nowhere"], ["--speed"]):
    refused = subprocess.run([SCRIPTS / "bench_peers.sh", *wrong], capture_output=True, text=True, check=False)
    expect(refused.returncode == 1 and refused.stderr.count("\n") == 1 and refused.stdout == "", wrong, refused)
