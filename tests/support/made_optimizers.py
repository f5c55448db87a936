# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table of optimizers as kadam-doctor says it, made up: some that are known, and some that nobody has tuned."""
import json


def kind(name, *options, dense=False, warmup="", needs_warmup=False):
    options = (warmup, *options) if warmup else options
    return {"name": name, "dense": dense, "warmup": warmup, "needs_warmup": needs_warmup,
            "options": [{"name": option} for option in options]}


KINDS = {one["name"]: one for one in (
    kind("adam", dense=True),
    kind("lamb", "trust_max", dense=True),
    kind("onebit_adam", "variance_floor", warmup="warmup_steps", needs_warmup=True),
    kind("new_adam", "sync_doubling_steps", "sync_interval_max", warmup="new_steps", needs_warmup=True),
    kind("plain_adam"),
)}

DOCTOR = f"""#!/usr/bin/env python3
import sys
if sys.argv[1:] != ["--optimizers", "--json"]:
    sys.exit("unexpected words")
print({json.dumps(list(KINDS.values()))!r})
"""
