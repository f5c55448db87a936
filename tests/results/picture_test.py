# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of scripts/results and of scripts/bench_network have what was measured:
picture_test.py ROOT results|bench_network"""
import pathlib
import re
import sys
import tempfile
from types import SimpleNamespace

from expect import expect

root, script = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(root / "scripts" / script))
import picture  # noqa: E402


def row(label, losses, sent):
    numbers = {"mean_bytes_per_step": sent, "dense_bytes_per_step": 80000}
    return SimpleNamespace(method=SimpleNamespace(label=label), losses=lambda: losses, mean=numbers.get,
                           deviation=lambda: 0.01)


def record(seconds, **more):
    return {"step_seconds": seconds} | more


def at_rate(seconds):
    return {"adam": record(seconds), "onebit_adam": record(0.4 * seconds), "PyTorch DDP": record(1.1 * seconds),
            "adam, no exchange": record(0.1, exchange="none"), "not measured": {}}


if script == "results":
    measured = [row("adam", [0.50, 0.52, 0.51], 80000), row("onebit_adam", [0.55, 0.54], 2600),
                row("far above", [9.0], 2600), row("diverged", [float("nan")], 2600)]
    shown, absent, known = ["adam", "onebit adam", "held-out loss, nats"], ["far above", "diverged"], ()
else:
    measured = {"10mbit": at_rate(3), "none": at_rate(0.3), "10mbit+50ms": {"loco": record(3)}}
    shown = ["adam", "onebit adam", "PyTorch DDP", "adam, no exchange", "10mbit", "not shaped", "seconds per step"]
    absent = ["not measured", "loco", "10mbit+50ms"]
    known = ([SimpleNamespace(label=label, dense=label == "adam") for label in (*at_rate(1), "loco")],)

with tempfile.TemporaryDirectory() as name:
    files = [pathlib.Path(name) / file for file in ("a.svg", "b.svg", "none.svg")]
    panels = [(SimpleNamespace(title=title), measured) for title in ("images", "words")]
    for file in files[:2]:
        picture.draw(file, panels, *known)
    drawn = files[0].read_text()
    expect(drawn == files[1].read_text(), "the same figures make another picture")
    for words, times in (("images", 1), ("words", 1), *((words, 2) for words in shown)):
        expect(drawn.count(f">{words}<") == times, words, "is not once in each panel")
    for words in absent:
        expect(words not in drawn, words, "is in the picture")
    expect(len(re.findall(r'<g id="axes_\d+">', drawn)) == 2, "not two panels")
    picture.draw(files[2], [], *known)
    expect(not files[2].exists(), "a picture of nothing")
