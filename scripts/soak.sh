#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Long runs of small steps, in which memory stays as it is and no file descriptor is gained; faults with every optimizer.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/soak.sh [options]

Trains a tiny model for many steps with each optimizer, saves it every thousand steps, and watches the memory and the
open files of every rank: neither may grow after the first tenth of the steps. Options:

  --faults           instead, disturbs runs of each optimizer (SIGTERM, kill -9, a rank that pauses, a broken
                     checkpoint, a folder that goes away, and, as root, a link that is down): they must end with the
                     parameters of an undisturbed run
  --deaths           instead, lets two of four ranks fail at random moments in runs of each optimizer (kill -9, a rank
                     that stands still, and, as root, on hosts of their own, a cable that is cut): the others must go
                     on. Prints how long that takes, and the loss at the end beside that of undisturbed runs
  --come-back        with --deaths: another rank takes the place of each that has failed
  --hosts            with --deaths, as root: two of four hosts, of two ranks each, fail one after the other
  --moments N        with --deaths: number of failures with each optimizer (default 10)
  --picture FILE     with --deaths: only draws the loss of a run of onebit_adam in which three of five ranks fail
  --steps N          number of steps (default 100000)
  --ranks N          number of ranks (default 2)
  --algorithms LIST  optimizers to train with (default: all)
  --program PATH     the kadam-train to run (default: build/bin/kadam-train, built first)
  --help             this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

program=''
algorithms=all
faults=''
moments=10
picture=''
kind_of_deaths=()
arguments=()
while (($#)); do
  case $1 in
    --steps | --ranks | --moments | --picture | --algorithms | --program)
      (($# > 1)) || stop "$1 needs a value; see scripts/soak.sh --help."
      ;;&
    --steps | --ranks | --moments) require_count "$1" "$2" 999999999 ;;&
    --program) program=$2 && shift 2 ;;
    --faults | --deaths) faults=${1#--} && shift ;;
    --come-back) kind_of_deaths+=("$1") && shift ;;
    --hosts) kind_of_deaths+=(--ranks 8 --ranks-per-host 2) && shift ;;
    --picture) picture=$2 && shift 2 ;;
    --moments) moments=$2 && shift 2 ;;
    --algorithms) algorithms=$2 && shift 2 ;;
    --steps | --ranks) arguments+=("$1=$2") && shift 2 ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/soak.sh --help." ;;
  esac
done
ensure_program kadam-train kadam-doctor
# shellcheck source=scripts/internal/python.sh
source "$here/internal/python.sh"
if [[ -n $faults ]]; then ensure_python "${KADAM_PYTHON_TEST_NEEDS[@]}"; fi
prepare_ranks
if [[ $faults == deaths ]]; then
  tests=$KADAM_ROOT/tests/train
  export PYTHONPATH=$KADAM_ROOT/tests/support TMPDIR=${TMPDIR:-/dev/shm}
  deaths=("$KADAM_VENV/bin/python" "$tests/deaths_test.py" "${kind_of_deaths[@]}")
  if [[ -n $picture ]]; then
    kept=$(mktemp -d)
    trap 'rm -rf "$kept"' EXIT
    "${deaths[@]}" --ranks 5 --failures 3 --only-kill --keep "$kept" onebit_adam "$program" mpirun -n
    "$KADAM_VENV/bin/python" "$here/soak/draw_deaths.py" "$kept" onebit_adam "$picture"
    exit
  fi
  deaths+=(--moments "$moments")
  code=0
  "${deaths[@]}" --lab "$here/netlab.sh" "$algorithms" "$program" mpirun -n || code=$?
  ((code == 77)) || exit "$code"
  exec "${deaths[@]}" "$algorithms" "$program" mpirun -n
elif [[ $faults == faults ]]; then
  tests=$KADAM_ROOT/tests/train
  export PYTHONPATH=$KADAM_ROOT/tests/support
  TMPDIR=${TMPDIR:-/dev/shm} "$KADAM_VENV/bin/python" "$tests/faults_test.py" "$algorithms" "$program" mpirun -n
  code=0
  "$KADAM_VENV/bin/python" "$tests/link_down_test.py" "$here/netlab.sh" "$algorithms" "$program" mpirun -n || code=$?
  ((code == 77)) || exit "$code"
else
  exec python3 "$here/soak/main.py" --program "$program" --algorithms "$algorithms" "${arguments[@]}"
fi
