# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/internal/tuned.toml speaks of optimizers, options and studies that there are: tuned_test.py FOLDER_OF_SCRIPTS
KADAM_DOCTOR"""
import pathlib
import sys

from expect import expect

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path += [str(SCRIPTS / "internal"), str(SCRIPTS / "results")]
import studies  # noqa: E402
from optimizers import has_option, optimizers  # noqa: E402
from tuned import TUNED, studies_of  # noqa: E402

known = optimizers(sys.argv[2])
names = {study.name for study in studies.STUDIES} | {"network"}
for name, section in TUNED.items():
    expect(name in known, "there is no optimizer", name)
    expect(section.keys() <= {"network", "rows"}, name, section)
    for options in (section.get("network", {}), *(row.get("options", {}) for row in section.get("rows", ()))):
        for option in options:
            expect(has_option(known[name], option), name, "has no option", option)
    for row in section.get("rows", ()):
        expect(names >= set(studies_of(row)) and row.keys() <= {"study", "label", "options"}, name, row)
for study in studies.STUDIES:
    methods = study.methods(known)
    labels = [method.label for method in methods]
    expect(len(set(labels)) == len(labels) > 1, study.name, labels)
    expect(not study.every or {method.optimizer for method in methods} == set(known), study.name, labels)
    chosen = study.methods(known, ["local_muon"])
    expect(chosen == methods[:1] + [method for method in methods[1:] if method.optimizer == "local_muon"], study.name, chosen)
