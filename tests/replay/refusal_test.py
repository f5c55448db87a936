# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives kadam-replay a bad case: it must end on all ranks with exit code 2 and one sentence that says what is wrong.

refusal_test.py FAULT CASE_FOLDER REPLAY LAUNCHER...
"""
import json
import pathlib
import shutil
import sys
import tempfile

from program import Program

fault, original, replay = sys.argv[1], pathlib.Path(sys.argv[2]), Program(sys.argv[3:])
ranks = 4
with tempfile.TemporaryDirectory() as folder:
    case = pathlib.Path(folder) / "case"
    shutil.copytree(original, case, copy_function=shutil.copyfile)
    expected, more = "", []
    if fault == "no_folder":
        case, expected = case / "nowhere", "nowhere/case.json: cannot be read"
    elif fault == "wrong_ranks":
        ranks, expected = 2, "start it with mpirun -n 4"
    elif fault == "unknown_option":
        description = json.loads((case / "case.json").read_text())
        description["options"]["warmup"] = 3
        (case / "case.json").write_text(json.dumps(description))
        expected = "onebit_adam has no option 'warmup'"
    elif fault == "truncated_gradients":
        content = (case / "gradients.npy").read_bytes()
        (case / "gradients.npy").write_bytes(content[: len(content) // 2])
        expected = "gradients.npy: at byte"
    elif fault == "unknown_key":
        description = json.loads((case / "case.json").read_text())
        description["option"] = description.pop("options")
        (case / "case.json").write_text(json.dumps(description))
        expected = "unknown key 'option': the keys are algorithm, groups"
    elif fault == "unknown_group_key":
        description = json.loads((case / "case.json").read_text())
        description["groups"] = [{"tensors": "*", "lr": 0.5}]
        (case / "case.json").write_text(json.dumps(description))
        expected = "groups has no option 'lr': its options are tensors, lr_scale"
    elif fault == "unmatched_group":
        description = json.loads((case / "case.json").read_text())
        description["groups"] = [{"tensors": "*.bias", "dense": True}]
        (case / "case.json").write_text(json.dumps(description))
        expected = "parameter group '*.bias' matches no tensor"
    elif fault == "short_rates":
        description = json.loads((case / "case.json").read_text())
        description["options"]["lr"] = [0.1, 0.1]
        (case / "case.json").write_text(json.dumps(description))
        expected = "'lr' is a list of 2 entries for a run of 20 steps"
    elif fault == "no_algorithm":
        description = json.loads((case / "case.json").read_text())
        del description["algorithm"], description["options"]
        (case / "case.json").write_text(json.dumps(description))
        expected = "case.json names no algorithm: give --optimizer NAME"
    elif fault == "nobodys_options":
        description = json.loads((case / "case.json").read_text())
        del description["algorithm"]
        (case / "case.json").write_text(json.dumps(description))
        expected = "'options' needs 'algorithm': add the name of the optimizer"
    elif fault == "no_gradients":
        (case / "gradients.npy").unlink()
        expected = "expected gradients.npy or gradients.rank"
    elif fault == "unknown_optimizer":
        more, expected = ["--optimizer", "onebit_adm"], "there is no optimizer 'onebit_adm': choose one of adam,"
    elif fault == "unknown_set":
        more, expected = ["--set", "lrr=0.1"], "onebit_adam has no option 'lrr': its options are lr,"
    elif fault == "set_of_unknown":
        more, expected = ["--set", "training.steps=3"], "there is no optimizer 'training'"
    out = pathlib.Path(folder) / "out.npy"
    if fault == "no_out_folder":
        out, expected = pathlib.Path(folder) / "nowhere" / "out.npy", "there is no folder"
    run = replay.start(ranks, "--case", case, "--out", out, *more)
    print(run.returncode, run.stdout, run.stderr)
    if run.returncode != 2 or run.stderr.count(expected) != 1 or out.exists():
        sys.exit(f"expected exit code 2 and, once: {expected}")
