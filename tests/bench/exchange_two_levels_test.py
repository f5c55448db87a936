# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two ranks on each of two hosts: what crosses a host's link in one level and in two.
exchange_two_levels_test.py KADAM_BENCH FOLDER_OF_SCRIPTS"""
import json
import os
import pathlib
import subprocess
import sys

from expect import expect

PROGRAM, NETLAB = sys.argv[1], pathlib.Path(sys.argv[2]) / "netlab.sh"
ELEMENTS = 4 * 1024 * 1024
DENSE, COMPRESSED, LOCO = "dense mean, float32", "compressed mean, 1 bit", "LoCo, 4 bit"
# TCP, IP and Ethernet headers, acknowledgements of what comes, messages of the measurement itself.
LEAST, MOST = 1.0, 1.12


def measured(ranks_per_node):
    command = [NETLAB, "with", "--name", f"levels{os.getpid()}", "--hosts", "2", "--", NETLAB, "run", "--ranks-per-host",
               "2", "--mpirun-args", f"-x KADAM_RANKS_PER_NODE={ranks_per_node}", "--", PROGRAM, "exchange",
               "--elements", str(ELEMENTS), "--repetitions", "2", "--json", "--interface-bytes", "--rate", "1gbit",
               *(word for name in (DENSE, COMPRESSED, LOCO) for word in ("--only", name))]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    if ended.returncode == 77 or "needs mpirun" in ended.stderr or "needs the mpirun" in ended.stderr:
        print(ended.stderr, end="")
        sys.exit(77)
    expect(ended.returncode == 0, ended)
    return {line["exchange"]: line for line in map(json.loads, ended.stdout.splitlines())}


def on_a_link(elements_bytes, ranks_per_host=2, hosts=2, two_levels=True):
    """Sent by a host, both ways of a mean, of a vector of so many bytes."""
    streams = 1 if two_levels else ranks_per_host
    return 2 * (hosts - 1) / hosts * elements_bytes * streams


one, two, automatic = measured(1), measured(2), measured("auto")
dense_bytes, code_bytes = 4 * ELEMENTS, ELEMENTS / 8 + 4 * ELEMENTS / 2048
for lines, two_levels in ((one, False), (two, True), (automatic, True)):
    for exchange, vector_bytes in ((DENSE, dense_bytes), (COMPRESSED, code_bytes)):
        counted, formula = lines[exchange]["interface_bytes"], on_a_link(vector_bytes, two_levels=two_levels)
        expect(LEAST < counted / formula < MOST, exchange, "two levels:", two_levels, "counted", counted, "of", formula)
    loco = (ELEMENTS / 2 + 4 * ELEMENTS / 256 + dense_bytes) / 2 * (1 if two_levels else 2)
    expect(LEAST < lines[LOCO]["interface_bytes"] / loco < MOST, lines[LOCO], "should be", loco)
for exchange in (DENSE, COMPRESSED, LOCO):
    expect(two[exchange]["node_bytes_sent"] > 0 and one[exchange]["node_bytes_sent"] == 0, two[exchange], one[exchange])
    expect(two[exchange]["bytes_sent"] == automatic[exchange]["bytes_sent"], two[exchange], automatic[exchange])
    limit = 8 * two[exchange]["interface_bytes"] / 1e9
    expect(abs(two[exchange]["wire_limit_seconds"] / limit - 1) < 1e-12, two[exchange], "limit should be", limit)
# What 1 bit saves of the dense mean's bytes on a link, 32 less the scales, is halved by the second stream.
dense = on_a_link(dense_bytes)
gain = {name: dense / lines[COMPRESSED]["interface_bytes"] for name, lines in (("one level", one), ("two levels", two))}
print(f"gain over a dense mean: {gain}")
expect(gain["two levels"] > 28 and gain["one level"] < 16, gain)
