#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How far single coordinates move beside dense Adam, under rules for small variances: docs/results.md. Needs no GPU.
#   scripts/movement.sh                       300 steps of each workload, optimizer and rule: 6 minutes on 2 cores
#   scripts/movement.sh --workload cnn        one workload; --help names the others
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ " $* " != *" --help "* ]]; then scripts/setup.sh --target kadam-train --target kadam-doctor; fi

# shellcheck source=scripts/internal/common.sh
source scripts/internal/common.sh
prepare_ranks
exec "$(script_python)" scripts/movement/main.py "$@"
