# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What every script here shares. Sourced, never run.

KADAM_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck disable=SC2034 # not every script needs it
KADAM_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/kadam
# For mpirun on the hosts of a lab: collectives that reach the rate of the wire. Pairwise all-to-all, which Open MPI would
# take, at times waits for one direction before it uses the other.
# shellcheck disable=SC2034
KADAM_LAB_MPIRUN_WORDS="--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_alltoall_algorithm 1"
KADAM_LAB_MPIRUN_WORDS+=" --mca coll_tuned_alltoallv_algorithm 1 --mca coll_tuned_allreduce_algorithm 4"
# shellcheck source=scripts/dependencies.sh
source "$KADAM_ROOT/scripts/dependencies.sh"

say() { printf 'kadam: %s\n' "$*"; }

stop() {
  printf 'kadam: %s\n' "$*" >&2
  exit 1
}

# require_count OPTION VALUE [MOST]: stops unless the value is a whole number of 1 or more, and not above MOST.
require_count() {
  local range="of 1 or more"
  if (($# > 2)); then range="from 1 to $3"; fi
  if [[ ! $2 =~ ^[1-9][0-9]{0,11}$ ]] || (($2 > ${3:-$2})); then stop "$1 needs a number $range, not $2."; fi
}

# The lines that say why come first: a C++ compiler explains itself at length.
show_failure() {
  {
    grep -E 'error:|Error|FAILED' "$1" | head -n 20 || true
    echo "..."
    tail -n 20 "$1"
  } | cut -c1-400
}

# run_logged LOG WHAT COMMAND...: quiet while all is well; shows what its log says when it is not.
run_logged() {
  local log=$1 what=$2
  shift 2
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1 </dev/null; then
    show_failure "$log" >&2
    stop "$what failed; the whole log is in $log"
  fi
}

# The Python that scripts/setup.sh prepares, which draws pictures; where it has not been called, the system's.
script_python() {
  if [[ -x $KADAM_CACHE/python/bin/python ]]; then
    echo "$KADAM_CACHE/python/bin/python"
  else
    echo python3
  fi
}

# with_lock FILE FUNCTION ARGS...: one at a time on this machine.
with_lock() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  (
    if ! flock --nonblock 9; then
      say "Waiting for another setup that holds $file."
      flock 9
    fi
    "$@"
  ) 9>"$file"
}

# build_programs NAME...: in build/bin. On a terminal it says what it does.
build_programs() {
  local targets=() name
  for name in "$@"; do targets+=(--target "$name"); done
  if [[ -t 1 ]]; then
    "$KADAM_ROOT/scripts/setup.sh" "${targets[@]}"
  else
    "$KADAM_ROOT/scripts/setup.sh" "${targets[@]}" >/dev/null
  fi
}

# ensure_program NAME [OTHER...]: `program` is the one that the user named, or build/bin/NAME, built first with the
# others, which lie beside it.
ensure_program() {
  if [[ -z $program ]]; then
    build_programs "$@"
    program=$KADAM_ROOT/build/bin/$1
  fi
  [[ -x $program ]] || stop "$program is not an executable program."
}

# OpenBLAS takes kernels of 2004 (Prescott) for processors that are younger than itself: matrix products then take five
# times as long. Where it would, the ones that this processor is good for.
help_openblas_with_new_processors() {
  [[ -z ${OPENBLAS_CORETYPE:-} && -r /proc/cpuinfo ]] || return 0
  local taken flags
  taken=$(python3 -c 'import ctypes
name = ctypes.CDLL("libopenblas.so.0").openblas_get_corename
name.restype = ctypes.c_char_p
print(name().decode())' 2>/dev/null) || return 0
  flags=" $(grep -m 1 '^flags' /proc/cpuinfo) "
  case $taken,$flags in
    Prescott,*' avx512_bf16 '*) export OPENBLAS_CORETYPE=Cooperlake ;;
    Prescott,*' avx512f '*) export OPENBLAS_CORETYPE=SkylakeX ;;
    Prescott,*' avx2 '*) export OPENBLAS_CORETYPE=Haswell ;;
  esac
}

# prepare_ranks: for `mpirun` with more ranks than cores: one thread each.
prepare_ranks() {
  # shellcheck source=scripts/mpi_environment.sh
  source "$KADAM_ROOT/scripts/mpi_environment.sh"
  help_openblas_with_new_processors
  export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_PROC_BIND=false
}

# What is measured must not depend on how somebody set up OpenBLAS on this machine: with another processor's kernels or
# cache size, its matrix products take 1.7 times as long.
forget_openblas_settings() {
  unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
  help_openblas_with_new_processors
}

build_folder() {
  if [[ $1 == release ]]; then
    echo "$KADAM_ROOT/build"
  else
    echo "$KADAM_ROOT/build-$1"
  fi
}
