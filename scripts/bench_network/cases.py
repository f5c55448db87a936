# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases, each a record in a file of JSON lines. A case with a record is not measured again; a failed one has its
reason."""
import json
import os
import pathlib
import sys
from dataclasses import dataclass

import kadam_runs
import peer_runs
from studies import SETTLE, dense_wire_seconds, measured_steps

sys.path.append(str(pathlib.Path(__file__).parents[1] / "internal"))
import load  # noqa: E402


class Records:
    """The records of a file, by workload, method and rate."""

    def __init__(self, path):
        self.path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.of = {self.key(record): record for record in map(json.loads, text.splitlines())}

    @staticmethod
    def key(record):
        return record["workload"], record["method"], record["rate"]

    def known(self, record):
        """The record of this case if the same command made it and did not fail, else None."""
        there = self.of.get(self.key(record))
        return there if there and there["made_by"] == record["made_by"] and "failed" not in there else None

    def keep(self, record):
        self.of[self.key(record)] = record
        self.write()

    def write(self):
        temporary = self.path.with_suffix(".new")
        temporary.write_text("".join(json.dumps(record) + "\n" for record in self.of.values()), encoding="utf-8")
        os.replace(temporary, self.path)


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def outcome(record):
    if "failed" in record:
        return f"failed, {record['failed']}"
    return f"{record['step_seconds']:.3g} s per step" if "step_seconds" in record else "done"


@dataclass
class Bench:
    lab: object
    records: Records
    program: str  # kadam-train
    python: str  # a Python with PyTorch
    data: str  # text file for the transformer
    steps: int
    output: object  # folder

    def made_by(self, words):
        """Identifies a command, its program's build and the lab: a record made by another one is not used."""
        return (f"{' '.join(words)} @{int(os.stat(words[0]).st_mtime)} on {self.lab.hosts} hosts of "
                f"{self.lab.ranks_per_host} ranks, mpirun {self.lab.mpirun_arguments}")

    def case(self, record, measure):
        there = self.records.known(record)
        if there is None:
            there = record | {"others": load.share_now()} | measure()
            self.records.keep(there)
        say(f"{there['workload']}, {there['rate']}, {there['method']}: {outcome(there)}")
        return there

    def timeout(self, workload, rate, steps):
        return 180 + 4 * (SETTLE + steps) * (2 + dense_wire_seconds(workload, rate, self.lab.hosts))

    def time_method(self, workload, method, rate):
        steps = measured_steps(self.steps, method.dense, workload, rate, self.lab.hosts, method.round_steps)
        words = kadam_runs.timed_command(self.program, workload, method, steps, self.data)
        folder = self.output / "timed" / workload.name / rate / method.label.replace(" ", "_")

        def measure():
            before = self.lab.bytes_sent()
            timeout = self.timeout(workload, rate, steps)
            if method.exchanges:
                failed = kadam_runs.run(self.lab, words, folder, timeout)
            else:
                failed = kadam_runs.run_alone(self.lab, words, folder, method.processes or self.lab.hosts, timeout)
            if failed:
                return {"failed": failed}
            return kadam_runs.timing_of(kadam_runs.lines_of(folder, method), method.round_steps) | {
                "bytes_on_interface": self.lab.bytes_sent() - before}

        return self.case({"workload": workload.name, "method": method.label, "rate": rate, "of": "kadam",
                          "exchange": "own" if method.exchanges else "none", "steps": steps,
                          "made_by": self.made_by(words)}, measure)

    def time_peer(self, workload, peer, rate):
        steps = measured_steps(self.steps, peer.exchange != "none", workload, rate, self.lab.hosts)
        words = peer_runs.command(self.python, workload, peer, self.lab.hosts, steps, self.data)

        def measure():
            before = self.lab.bytes_sent()
            timing = peer_runs.run(self.lab, words, peer.processes or self.lab.hosts,
                                   self.timeout(workload, rate, steps))
            return timing | {"bytes_on_interface": self.lab.bytes_sent() - before}

        return self.case({"workload": workload.name, "method": peer.label, "rate": rate, "of": "pytorch",
                          "exchange": peer.exchange, "steps": steps, "made_by": self.made_by(words)}, measure)

    def curve_folder(self, workload, method):
        return self.output / "curves" / workload.name / method.label.replace(" ", "_")

    def train(self, workload, method):
        """Trains to the end on an unshaped network, because losses do not depend on the rate."""
        words = kadam_runs.curve_command(self.program, workload, method, self.data)
        folder = self.curve_folder(workload, method)
        text = workload.config.read_text(encoding="utf-8")

        def measure():
            failed = kadam_runs.run(self.lab, words, folder, 7200)
            return {"failed": failed} if failed else {}

        return self.case({"workload": workload.name, "method": method.label, "rate": "curve", "of": "kadam",
                          "made_by": self.made_by(words) + f"\n{text}"}, measure)

    def curve(self, workload, method):
        """The lines of a training's metrics; None if it was not run or failed."""
        record = self.records.of.get((workload.name, method.label, "curve"), {"failed": ""})
        return None if "failed" in record else kadam_runs.lines_of(self.curve_folder(workload, method), method)
