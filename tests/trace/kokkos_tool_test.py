# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tool of Kokkos Tools sees the regions, kernels and allocations of training with every optimizer: kokkos_tool_test.py
TOOL KADAM_TRAIN LAUNCHER..."""
import pathlib
import sys
import tempfile

import small_data
from expect import expect
from program import Program

STEPS = 12
PHASES = {"kadam::check", "kadam::encode", "kadam::exchange", "kadam::decode"}
tool, program = sys.argv[1], Program(sys.argv[2:])


def check(name, lines):
    """Of one rank."""
    regions, step, seen = [], 0, set()
    for line in lines:
        what, _, label = line.partition(" ")
        if what == "push":
            expect(not (label in PHASES and set(regions) & PHASES), name, label, "inside", regions)
            regions.append(label)
            step += label == "kadam-train::step"
            seen.add(label)
        elif what == "pop":
            expect(regions, name, "a region ends that has not begun")
            regions.pop()
        elif what == "kernel":
            expect(label.startswith(("kadam", "Kokkos")), name, "a kernel without a label of ours:", label)
            if set(regions) & PHASES:
                expect(not label.startswith("kadam::workloads"), name, label, "in", regions)
        elif what == "allocate" and step > 2 and set(regions) & PHASES:
            # The first step of each of the two phases allocates.
            expect(step == STEPS // 2 + 1 or label.startswith("Kokkos"), name, label, "is allocated in step", step)
    expect(not regions, name, "does not end", regions)
    expect(step == STEPS, name, step, "steps")
    expect({"kadam::check", "kadam::decode", "kadam-train::gradient"} <= seen, name, seen)
    is_dense = program.known[name]["dense"]
    # A dense gradient is sent as it is found: on a busy machine all of it may be there before the step asks.
    expect(is_dense or "kadam::exchange" in seen, name, seen)
    expect(("kadam::encode" in seen) == (not is_dense), name, seen)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    data = small_data.write_images(folder / "images")
    (folder / "a.toml").write_text(small_data.images_toml(data, STEPS))
    for name in program.optimizers("all"):
        out = folder / name
        out.mkdir()
        environment = {"KOKKOS_TOOLS_LIBS": tool, "REGION_TOOL_FOLDER": str(out)}
        options = ["--config", folder / "a.toml", "--set", f"optimizer.name={name}", "--run", folder / f"{name}-run"]
        options += program.warmup_of(name, STEPS // 2)
        program.run(2, *options, environment=environment)
        files = sorted(out.iterdir())
        expect(len(files) == 2, files)
        for file in files:
            check(name, file.read_text().splitlines())
    # A timeline listens itself.
    done = program.start(2, "--config", folder / "a.toml", "--run", folder / "refused", "--trace",
                         environment=environment)
    expect(done.returncode == 2 and "KOKKOS_TOOLS_LIBS" in done.stderr, done.returncode, done.stderr)
