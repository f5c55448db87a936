#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kadam's kernels against the memory of this machine, compiled for its processor and for others.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/bench_kernels.sh [options]

Compiles kadam-bench for this processor (-march=native) and, on x86-64, for any with AVX2 (-march=x86-64-v3), as
packages are. Measures every kernel with both, in turn, and prints a table: milliseconds, and the part of the memory's
limit that a kernel reaches. Options:

  --elements N          elements of a vector (default 67108864); each takes about 53 bytes of memory
  --threads N           threads of each program (default: one per core)
  --rounds N            rounds, which measure the programs one after the other; medians count (default 3)
  --only KERNEL         only this kernel, beside the limits (may be repeated)
  --write               also puts the table into docs/performance.md
  --program TITLE=PATH  this kadam-bench in a column of this title, in place of the two (may be repeated)
  --help                this text

A round takes about three minutes on two cores.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

elements=67108864
threads=$(nproc)
rounds=3
arguments=()
programs=()
while (($#)); do
  case $1 in
    --elements | --threads | --rounds | --only | --program)
      (($# > 1)) || stop "$1 needs a value; see scripts/bench_kernels.sh --help."
      ;;&
    --elements | --threads | --rounds) require_count "$1" "$2" ;;&
    --elements) elements=$2 && shift 2 ;;
    --threads) threads=$2 && shift 2 ;;
    --rounds) rounds=$2 && shift 2 ;;
    --only) arguments+=("$1" "$2") && shift 2 ;;
    --program)
      [[ $2 == ?*=* && -x ${2#*=} ]] || stop "--program needs TITLE=PATH with the path of a program, not $2."
      programs+=("$2") && shift 2
      ;;
    --write) arguments+=("$1") && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/bench_kernels.sh --help." ;;
  esac
done

# build_for PROCESSOR FOLDER: kadam-bench with this -march=, in a build folder of its own.
build_for() {
  run_logged "$KADAM_ROOT/$2/bench_kernels.log" "Building kadam-bench for $1" \
    "$here/setup.sh" --build "$KADAM_ROOT/$2" --target kadam-bench -- "-DCMAKE_CXX_FLAGS=-march=$1"
  programs+=("$1=$KADAM_ROOT/$2/bin/kadam-bench")
}

if ((${#programs[@]} == 0)); then
  build_programs kadam-bench
  programs=("native=$KADAM_ROOT/build/bin/kadam-bench")
  if [[ $(uname -m) == x86_64 ]]; then build_for x86-64-v3 build-v3; fi
fi
exec python3 "$here/bench_kernels/main.py" --elements "$elements" --threads "$threads" --rounds "$rounds" \
  "${arguments[@]}" "${programs[@]}"
