#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The tables of docs/results.md: every algorithm trained on real data, against dense Adam. Needs no GPU.
#   scripts/results.sh --quick                one seed, under 20 minutes on 2 cores
#   scripts/results.sh --write                3 learning rates, 3 seeds: more than an hour; tables into docs/
#   scripts/results.sh --algorithms LIST      only these beside dense Adam
#   scripts/results.sh --study NAME           another study; --help names them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ " $* " != *" --help "* ]]; then scripts/setup.sh; fi

# shellcheck source=scripts/internal/common.sh
source scripts/internal/common.sh
prepare_ranks
exec "$(script_python)" scripts/results/main.py "$@"
