# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads run.json, config.toml and comparison.json."""
from kadam_report.run import Refusal, member, numbers_of, parsed


def text_of(file):
    """The contents of a file; empty if there is none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_record(run):
    """Reads run.json and config.toml into a run. A missing file gives a remark; a malformed run.json is refused."""
    run.configuration = text_of(run.folder / "config.toml")
    if not run.configuration:
        run.remarks.append("Its folder has no config.toml.")
    file = run.folder / "run.json"
    if not file.exists():
        run.remarks.append("Its folder has no run.json, which earlier versions of Kadam did not write: time, machine "
                           "and command are not known.")
        return
    record = parsed(text_of(file))
    if not isinstance(record, dict):
        raise Refusal(f"{file}: expected a JSON object")
    run.optimizer = member(record, "optimizer", str)
    run.model = member(record, "model", str)
    run.data = member(record, "data", str)
    run.kind = member(record, "kind", dict)
    run.facts = numbers_of(record)
    run.result = numbers_of(member(record, "result", dict))
    run.starts = [start for start in member(record, "starts", list) if isinstance(start, dict)]


def read_comparison(folder):
    """[(name, figures)] of comparison.json in its order; empty without the file. A malformed one is refused."""
    file = folder / "comparison.json"
    if not file.exists():
        return []
    results = parsed(text_of(file))
    if not isinstance(results, list):
        raise Refusal(f"{file}: expected a JSON list of objects")
    return [(member(result, "optimizer", str), numbers_of(result)) for result in results if isinstance(result, dict)]
