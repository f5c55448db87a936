#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What is normal of the figures of kadam-replay: docs/replay.md. Needs no GPU, and 2 GB on the disk.
#   scripts/replay_ranges.sh                  records three trainings and replays them with every optimizer
#   scripts/replay_ranges.sh --write          and puts the ranges into drivers/replay/normal.cpp; --help names the rest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=scripts/internal/common.sh
source scripts/internal/common.sh
if [[ " $* " != *" --help "* && " $* " != *" --no-setup "* ]]; then
  scripts/setup.sh --target kadam-train --target kadam-replay --target kadam-doctor
fi
prepare_ranks
exec "$(script_python)" scripts/replay_ranges/main.py "$@"
