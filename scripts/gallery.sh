#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The stories of docs/gallery.md: what Kadam does for three kinds of readers, with a table and a picture of each.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/gallery.sh [options] [STORY...]

Runs what the stories of docs/gallery.md tell, and says what came out. Needs root, for the hosts of scripts/netlab.sh;
up to eight minutes a story on two cores. Stories (default: all):

  bert        a masked language model on 4 hosts with 100 Mbit/s each
  fortran     a solver in Fortran that trains a surrogate of itself, on one machine and on 4 slow hosts
  two_sites   two hosts of two ranks each, with 100 Mbit/s and 50 ms between them

Options:

  --program PATH   the kadam-train to run, beside which the other programs lie (default: build/bin/kadam-train, built
                   first)
  --output FOLDER  for a folder of each story with its table, picture and runs (default results/gallery); runs that are
                   there and that the same program made are not repeated
  --write          also puts tables and pictures into docs/
  --help           this text

Where the system allows no namespaces: one sentence on standard error and exit code 77; the story fortran is then told
without slow hosts.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

program=''
output=$KADAM_ROOT/results/gallery
stories=()
arguments=()
while (($#)); do
  case $1 in
    --program | --output)
      (($# > 1)) || stop "$1 needs a value; see scripts/gallery.sh --help."
      ;;&
    --program) program=$2 && shift 2 ;;
    --output) output=$2 && shift 2 ;;
    --write) arguments+=("$1") && shift ;;
    --help | -h) usage && exit ;;
    -*) stop "Unknown option $1; see scripts/gallery.sh --help." ;;
    *) stories+=("$1") && shift ;;
  esac
done
main=$here/gallery/main.py
names=$(python3 "$main" --names "${stories[@]}")
read -ra stories <<<"$names"

programs=(kadam-train kadam-doctor)
if [[ " $names " == *" fortran "* ]]; then programs+=(example_heat); fi
ensure_program "${programs[@]}"
forget_openblas_settings
prepare_ranks
python=$(script_python)
arguments+=(--program "$program" --output "$output" --data "$KADAM_CACHE/data/bible-kjv.txt"
  "--mpirun-args=$KADAM_LAB_MPIRUN_WORDS")
skipped=0
for story in "${stories[@]}"; do
  code=0
  read -ra lab <<<"$(python3 "$main" --lab "$story")"
  "$here/netlab.sh" with "${lab[@]}" -- \
    "$python" "$main" "${arguments[@]}" --netlab "$here/netlab.sh" "$story" || code=$?
  if ((code == 77)); then
    skipped=77
    [[ $story != fortran ]] || "$python" "$main" "${arguments[@]}" "$story"
  elif ((code != 0)); then
    exit "$code"
  fi
done
exit "$skipped"
