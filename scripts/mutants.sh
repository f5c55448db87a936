#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Are the tests worth what they say? Breaks the code in one place at a time and looks whether a test sees it.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/mutants.sh [options]

Builds a copy of the sources (build-mutants/) that holds all faults of tests/mutants/, each behind a switch. Runs the
tests that should see the faults, once without a fault, then once with each. A test that fails, crashes or hangs has
caught its fault. A run that was stopped goes on where it was. The exit code is 0 if every fault that was tried was
caught; a fault is not tried where all its tests are skipped, as those that need PyTorch. Options:

  --list         list the faults, with their files and what they do; builds nothing
  --only NAME    try only this fault (may be repeated; 'zero-one-*' takes all whose names begin so)
  --today        try one fault, another one every day
  --again        try faults again that were caught before in the same sources
  --everything   run all tests of the folders whose tests are named, and print which of them see the fault
  --jobs N       compile N files at a time, and try half as many faults (default: one per core)
  --help         this text

The output of a test with a fault is in build-mutants/output/<fault>.<test>.log.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

arguments=()
while (($#)); do
  case $1 in
    --only | --jobs)
      (($# > 1)) || stop "$1 needs a value; see scripts/mutants.sh --help."
      ;;&
    --jobs) require_count "$1" "$2" 9999 ;;&
    --only | --jobs) arguments+=("$1=$2") && shift 2 ;;
    --list | --today | --everything | --again) arguments+=("$1") && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/mutants.sh --help." ;;
  esac
done
help_openblas_with_new_processors
exec python3 "$here/mutants/main.py" "${arguments[@]}"
