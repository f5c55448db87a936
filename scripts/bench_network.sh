#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Training on a slow network, end to end: every algorithm of Kadam, and PyTorch DDP, on the hosts of scripts/netlab.sh.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/bench_network.sh [options]

Trains a transformer of 3.3 million parameters and a small CNN on real data, on hosts with a network of 10, 100 and
1000 Mbit/s each and as fast as the machine, with dense Adam, every other algorithm, and PyTorch DDP on gloo. Says what
a step takes and where, and how long it takes to a given loss. Needs root; about two hours. Options:

  --rates LIST       default 10mbit,100mbit,1gbit,none; 100mbit+50ms: with so much delay from host to host. A program
                     carries what is delayed, and takes part of a processor: measure such rates by themselves
  --algorithms LIST  default: all of them
  --workloads LIST   default transformer,cnn
  --steps N          measured at a time, a multiple of 4 (default 12; where a dense step is slow, 4 of those)
  --hosts N          default 4
  --no-peers         without PyTorch; --peers (default) installs it if need be, see scripts/bench_peers.sh
  --no-curves        without whole trainings: no time to a loss
  --loss NAME=LOSS   of a workload, to which time is told; may be repeated
  --mpirun-args WORDS
                     of mpirun, in place of those that choose the collectives which reach the wire's rate
  --program PATH     the kadam-train to run (default: build/bin/kadam-train, built first)
  --output FOLDER    for cases.jsonl, network.md, network.svg and the runs (default results/network); cases that are
                     there and that the same program made are not run again
  --write            also puts tables and picture into docs/end_to_end.md
  --help             this text

Where the system allows no namespaces: one sentence on standard error and exit code 77.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

hosts=4
steps=12
peers=true
program=''
# Pairwise all-to-all, which Open MPI would take, at times waits for one direction before it uses the other.
mpirun_words='--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_alltoall_algorithm 1
  --mca coll_tuned_alltoallv_algorithm 1 --mca coll_tuned_allreduce_algorithm 4'
output=$KADAM_ROOT/results/network
cables=()
arguments=()
while (($#)); do
  case $1 in
    --rates | --algorithms | --workloads | --steps | --hosts | --loss | --mpirun-args | --program | --output)
      (($# > 1)) || stop "$1 needs a value; see scripts/bench_network.sh --help."
      ;;&
    --steps | --hosts)
      [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || stop "$1 needs a number from 1 on, not $2."
      ;;&
    --rates)
      [[ $2 =~ ^(([1-9][0-9]*(kbit|mbit|gbit)|none)(\+[0-9]+(ms|us))?(,|$))+$ ]] ||
        stop "--rates needs a list like 10mbit,100mbit+50ms,none, not $2."
      # Cables that can delay are made so; each rate then says how much.
      if [[ $2 == *+* ]]; then cables=(--delay 0ms); fi
      ;;&
    --rates | --algorithms | --workloads | --loss) arguments+=("$1=$2") && shift 2 ;;
    --mpirun-args) mpirun_words=$2 && shift 2 ;;
    --steps) steps=$2 && shift 2 ;;
    --hosts) hosts=$2 && shift 2 ;;
    --program) program=$2 && shift 2 ;;
    --output) output=$2 && shift 2 ;;
    --peers) peers=true && shift ;;
    --no-peers) peers=false && shift ;;
    --no-curves | --write) arguments+=("$1") && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/bench_network.sh --help." ;;
  esac
done
arguments+=(--steps "$steps" --hosts "$hosts" --output "$output" --netlab "$here/netlab.sh"
  --data "$KADAM_CACHE/data/bible-kjv.txt" "--mpirun-args=${mpirun_words//$'\n'/ }")
main=$here/bench_network/main.py
python3 "$main" --check --program "${program:-none}" "${arguments[@]}"

ensure_program kadam-train kadam-doctor
forget_openblas_settings
if [[ $peers == true ]]; then
  python=$KADAM_CACHE/python-peers/bin/python
  if ! "$python" -c 'import torch' 2>/dev/null; then
    say "Installing PyTorch (5.4 GB); this happens once." >&2
    "$here/bench_peers.sh" --elements 64 --rounds 1 >/dev/null || true # which says why it cannot
  fi
  if [[ -x $python ]]; then arguments+=(--python "$python"); fi
fi
exec "$here/netlab.sh" with --hosts "$hosts" "${cables[@]}" -- "$(script_python)" "$main" --program "$program" "${arguments[@]}"
