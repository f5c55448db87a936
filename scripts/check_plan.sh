#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kadam-plan's predictions beside kadam-train's steps, on hosts with a slow network on this machine.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/check_plan.sh [options]

Makes hosts on a slow network (scripts/netlab.sh; needs root), measures them with kadam-plan, trains a perceptron
with adam, onebit_adam and locally_accumulated_adam, and prints predicted and measured milliseconds of a step. With
several ranks on a host it does so in one level, then in two (KADAM_RANKS_PER_NODE). Options:

  --hosts N           number of hosts (default 4)
  --ranks-per-host N  number of ranks that share a host's link (default 1)
  --rates LIST        rates of each host's link (default 100mbit,300mbit,1gbit)
  --optimizers LIST   optimizers to train with, some of the three (default: all)
  --steps N           steps of each training (default 24); the first 8 do not count
  --within P          fails if a deviation is larger than P percent (default: only prints)
  --write             also puts the table into docs/planning.md
  --programs DIR      folder with kadam-plan and kadam-train (default: build/bin, built first)
  --netlab FILE       the script that makes hosts (default scripts/netlab.sh)
  --help              this text

If hosts cannot be made, it exits with code 77. It takes about 5 minutes; so does
  scripts/check_plan.sh --hosts 2 --ranks-per-host 2 --rates 100mbit --steps 16
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

hosts=4
ranks_per_host=1
rates=100mbit,300mbit,1gbit
steps=24
programs=''
netlab=$here/netlab.sh
passed_on=()
while (($#)); do
  case $1 in
    --hosts | --ranks-per-host | --rates | --optimizers | --steps | --within | --programs | --netlab)
      (($# > 1)) || stop "$1 needs a value; see scripts/check_plan.sh --help."
      ;;&
    --hosts) hosts=$2 && shift 2 ;;
    --ranks-per-host) ranks_per_host=$2 && shift 2 ;;
    --rates) rates=$2 && shift 2 ;;
    --optimizers) passed_on+=(--optimizers "$2") && shift 2 ;;
    --steps) steps=$2 && shift 2 ;;
    --within) passed_on+=(--within "$2") && shift 2 ;;
    --programs) programs=$2 && shift 2 ;;
    --netlab) netlab=$2 && shift 2 ;;
    --write) passed_on+=(--write) && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/check_plan.sh --help." ;;
  esac
done

[[ -x $netlab ]] || stop "$netlab is not an executable program; it is needed to make hosts."
if [[ -z $programs ]]; then
  programs=$KADAM_ROOT/build/bin
  build_programs kadam-plan kadam-train
fi
forget_openblas_settings
prepare_ranks
exec "$netlab" with --hosts "$hosts" --rate "${rates%%,*}" -- \
  python3 "$here/check_plan/main.py" --netlab "$netlab" --programs "$programs" --hosts "$hosts" \
  --ranks-per-host "$ranks_per_host" --rates "$rates" --steps "$steps" "${passed_on[@]}"
