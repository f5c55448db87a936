# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-bench exchange, run: exchange_test.py RANKS KADAM_BENCH LAUNCHER..."""
import json
import sys

from expect import expect
from program import Program

RANKS, PROGRAM = int(sys.argv[1]), Program(sys.argv[2:])
KEYS = {"exchange", "elements", "ranks", "seconds", "spread", "repetitions", "bytes_sent", "node_bytes_sent",
        "interface_bytes", "wire_limit_seconds", "ratio_to_limit", "round_trip_seconds", "encode_seconds",
        "exchange_seconds", "decode_seconds"}
SELECT_BLOCK = 4096


def results_of(*arguments):
    said = PROGRAM.run(RANKS, "exchange", "--json", "--repetitions", "2", "--seconds", "5", *arguments)
    return [json.loads(line) for line in said.splitlines()]


def sparse_message(elements, entries):
    """Of whole select blocks: float32 values, 12-bit indices in whole words."""
    return elements // SELECT_BLOCK * (4 * entries + 4 * -(-12 * entries // 32))


def bytes_of(elements):
    """By the formulas, for chunks of whole blocks."""
    part = (RANKS - 1) / RANKS

    def block_coded(bits, block):
        return part * elements * (bits / 8 + 4 / block)

    many, few = sparse_message(elements, 41), sparse_message(elements, 4)
    return {"MPI all-reduce, float32": 2 * part * 4 * elements,
            "dense mean, float32": 2 * part * 4 * elements,
            "dense mean, bf16": 2 * part * 2 * elements,
            "compressed mean, 1 bit": 2 * block_coded(1, 2048),
            "compressed mean, 4 bit": 2 * block_coded(4, 2048),
            "compressed mean, 8 bit": 2 * block_coded(8, 2048),
            "LoCo, 4 bit": block_coded(4, 256) + part * 4 * elements,
            "sparse mean, own, 1 %": (RANKS - 1) * many,
            "sparse mean, owner, 1 %": 2 * part * many,
            "sparse mean, own, 1/1024": (RANKS - 1) * few,
            "sparse mean, owner, 1/1024": 2 * part * few}


def test_bytes_and_limits():
    elements = 2 * SELECT_BLOCK * RANKS
    expected = bytes_of(elements)
    lines = results_of("--elements", str(elements), "--rate", "2mbit", "--latency", "3ms", "--interface-bytes")
    expect([line["exchange"] for line in lines] == list(expected), "other exchanges or another order", lines)
    for line in lines:
        expect(set(line) == KEYS, line)
        expect(line["elements"] == elements and line["ranks"] == RANKS and line["repetitions"] == 2, line)
        expect(line["bytes_sent"] == expected[line["exchange"]], line, "should have sent", expected[line["exchange"]])
        expect(line["seconds"] > 0 and line["interface_bytes"] is not None, line)
        expect(0 < line["round_trip_seconds"] == lines[0]["round_trip_seconds"], line)
        limit = 8 * line["bytes_sent"] / 2e6 + 3e-3
        expect(abs(line["wire_limit_seconds"] / limit - 1) < 1e-12, line, "limit should be", limit)
        expect(abs(line["ratio_to_limit"] * limit / line["seconds"] - 1) < 1e-12, line)
        phases = [line[f"{phase}_seconds"] for phase in ("encode", "exchange", "decode")]
        expect(line["exchange_seconds"] > 0 and min(phases) >= 0, line)


def test_selection():
    lines = results_of("--elements", "1000,70001", "--only", "1 bit", "--only", "bf16")
    expect([(line["elements"], line["exchange"]) for line in lines] ==
           [(elements, name) for elements in (1000, 70001) for name in ("dense mean, bf16", "compressed mean, 1 bit")],
           lines)
    for line in lines:
        expect(line["wire_limit_seconds"] is None and line["ratio_to_limit"] is None, line)
        expect(line["interface_bytes"] is None and line["bytes_sent"] > 0, line)


def test_table():
    table = PROGRAM.run(RANKS, "exchange", "--elements", "100", "--repetitions", "1", "--rate", "1gbit", "--only",
                        "owner, 1 %")
    expect(f"{RANKS} ranks of" in table and "limit: 1000 Mbit/s" in table and "there and back: " in table, table)
    expect(table.count("sparse mean") == 1 and "\033" not in table and "\r" not in table, table)


test_bytes_and_limits()
if RANKS == 2:
    test_selection()
    test_table()
