# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kadam-report: main.py VERSION [options], as its launcher calls it."""
import sys

from kadam_report.command_line import main

sys.exit(main(sys.argv[1], sys.argv[2:]))
