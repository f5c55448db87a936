# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page knows the library by these words and numbers, which stand in C++ as well: same_words_test.py"""
import re

import package
from expect import expect
from kadam_report.health import FIGURES
from kadam_report.trace_events import ARRIVES, BACKGROUND, NETWORK, REGIONS, STEP


def source(path):
    return (package.ROOT / path).read_text()


limits = dict(re.findall(r"constexpr double (\w+) = ([^;]+);", source("src/kadam/algorithms/health.hpp")))
parts = {name: [float(part) for part in value.split("/")] for name, value in limits.items()}  # as 1.0 / 16.0
values = {name: part[0] / part[1] if part[1:] else part[0] for name, part in parts.items()}
for field in ("error_ratio", "variance_drift", "variance_spread", "largest_step"):
    both = [values[name] for name in (f"smallest_{field}", f"largest_{field}") if name in values]
    expect(list(FIGURES[field][2]) == both, field, both)

words = source("drivers/trace/recorder.hpp")
tracks = re.search(r"enum class Track[^{]*\{([^}]*)\}", words)[1].replace(" ", "").split(",")
expect((tracks.index("network"), tracks.index("background")) == (NETWORK, BACKGROUND), tracks)
names = dict(re.findall(r'(\w+) = "([^"]*)";', words))
expect((names["step_region"], names["message_arrives"]) == (STEP, ARRIVES), names)
regions = {names["gradient_region"], *re.findall(r'"(kadam::\w+)"', source("src/kadam/collectives/phases.hpp"))}
expect(set(REGIONS) <= regions and names["gradient_region"] in REGIONS, regions)
