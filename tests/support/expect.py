# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every Python test ends with when something does not hold."""
import sys


def expect(condition, *words):
    if not condition:
        sys.exit("failed: " + " ".join(map(str, words)))
