#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A long run of small steps: memory stays as it is, and no file descriptor is gained.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/soak.sh [options]

Trains a tiny model for many steps with each optimizer, saves every thousandth, and looks at every rank's memory and
open files meanwhile: neither may grow once the first tenth is over. Options:

  --steps N          default 100000
  --ranks N          default 2
  --algorithms LIST  default: all of them
  --program PATH     the kadam-train to run (default: build/bin/kadam-train, built first)
  --help             this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

program=''
arguments=()
while (($#)); do
  case $1 in
    --steps | --ranks | --algorithms | --program)
      (($# > 1)) || stop "$1 needs a value; see scripts/soak.sh --help."
      ;;&
    --steps | --ranks)
      [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || stop "$1 needs a number from 1 on, not $2."
      ;;&
    --program) program=$2 && shift 2 ;;
    --steps | --ranks | --algorithms) arguments+=("$1=$2") && shift 2 ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/soak.sh --help." ;;
  esac
done
ensure_program kadam-train
# shellcheck source=scripts/mpi_environment.sh
source "$here/mpi_environment.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_PROC_BIND=false
exec python3 "$here/soak/main.py" --program "$program" "${arguments[@]}"
