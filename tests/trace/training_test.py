# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The timeline of a run can be read, nests, shows what overlaps and changes nothing: training_test.py KADAM_TRAIN
LAUNCHER..."""
import json
import pathlib
import sys
import tempfile

import small_data
from expect import expect
from program import Program

FIRST, LAST, STEPS = 31, 50, 60
TRACKS = {0: "compute", 1: "encode and decode", 2: "network", 3: "background"}
program = Program(sys.argv[1:])


def expect_nested(events, where):
    """Events of a track lie inside each other or beside each other."""
    open_ends = []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        begin, end = event["ts"], event["ts"] + event["dur"]
        while open_ends and open_ends[-1] <= begin + 0.002:
            open_ends.pop()
        expect(not open_ends or end <= open_ends[-1] + 0.002, where, event, open_ends)
        open_ends.append(end)


def overlap(one, others):
    begin, end = one["ts"], one["ts"] + one["dur"]
    return sum(max(0, min(end, o["ts"] + o["dur"]) - max(begin, o["ts"])) for o in others)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS))
    options = ["--config", folder / "a.toml", "--set", "optimizer.name=divisible_adam", "--set",
               "optimizer.divisible_adam.warmup_steps=10", "--set", "model.hidden=[512]", "--set",
               "training.log_every=10"]
    program.run(2, *options, "--run", folder / "usual")
    said = program.run(2, *options, "--run", folder / "traced", "--trace", "--trace-steps", FIRST, LAST)
    expect(f"Timeline: {folder / 'traced' / 'trace.json'}" in said, said)
    same = [(folder / run / "parameters.safetensors").read_bytes() for run in ("usual", "traced")]
    expect(same[0] == same[1], "the timeline changes the parameters")

    events = json.loads((folder / "traced" / "trace.json").read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    expect(names == {(rank, track): TRACKS[track] for rank in (0, 1) for track in TRACKS}, names)
    metrics = [json.loads(line) for line in (folder / "traced" / "metrics.jsonl").read_text().splitlines()]
    sent_until = {m["step"]: m["bytes_sent"] for m in metrics if "bytes_sent" in m}
    counted = sent_until[LAST] - sent_until[FIRST - 1]
    for rank in 0, 1:
        own = [e for e in events if e["pid"] == rank]
        lasting = {track: [e for e in own if e["ph"] == "X" and e["tid"] == track] for track in TRACKS}
        for track, of_track in lasting.items():
            expect(of_track, "nothing on", rank, TRACKS[track])
            expect_nested(of_track, (rank, TRACKS[track]))
        expect(sum(e["name"] == "kadam-train::step" for e in lasting[0]) == LAST - FIRST + 1, "steps")
        # What goes in the background goes while gradients are computed.
        gradients = [e for e in lasting[0] if e["name"] == "kadam-train::gradient"]
        background = [e for e in lasting[3] if e["name"] == "background exchange"]
        hidden = sum(overlap(e, gradients) for e in background)
        expect(hidden > 0, rank, "nothing is hidden:", len(background))
        sent = sum(e["args"]["bytes"] for e in own if e["name"] == "send")
        # A background exchange may be under way when the first step begins, or when the last ends.
        at_the_ends = max(e["args"]["sent_bytes"] for e in background)
        expect(abs(sent - counted) <= 2 * at_the_ends, rank, sent, counted)
    # Both ranks leave a dense exchange only after both have come: by one clock, they overlap.
    for one in (e for e in events if e["pid"] == 0 and e["name"] == "kadam-train::step"):
        others = [e for e in events if e["pid"] == 1 and e["name"] == "kadam-train::step"]
        expect(overlap(one, others) > 0, one)

    done = program.start(1, *options, "--run", folder / "refused", "--trace-steps", 1, 2)
    expect(done.returncode == 2 and "give --trace as well" in done.stderr, done.returncode, done.stderr)
    done = program.start(1, *options, "--run", folder / "refused", "--trace", "--trace-steps", 5, 2)
    expect(done.returncode == 2 and "at most LAST" in done.stderr, done.returncode, done.stderr)
