#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Training on a slow network, end to end: every algorithm of Kadam, and PyTorch DDP, on the hosts of scripts/netlab.sh.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/bench_network.sh [options]

Trains a transformer of 3.3 million parameters and a small CNN on real data, with dense Adam, every other algorithm, and
PyTorch DDP on gloo. The hosts' network runs at 10, 100 and 1000 Mbit/s per host, and as fast as the machine allows.
Prints the time of a step and of its parts, and the time to a given loss. Needs root, and about two hours. Options:

  --rates LIST       rates of each host's cable (default 10mbit,100mbit,1gbit,none); 100mbit+50ms adds a delay from host
                     to host. A program then carries the frames and takes part of a processor: measure such rates by
                     themselves
  --algorithms LIST  optimizers to train with (default: all)
  --workloads LIST   workloads to train (default transformer,cnn)
  --steps N          steps to measure at a time, a multiple of 4 (default 12); of slow dense steps 4 are measured
  --hosts N          number of hosts (default 4)
  --no-peers         leaves out PyTorch; --peers (default) installs it if it is missing, see scripts/bench_peers.sh
  --no-curves        leaves out whole trainings, and with them the time to a loss
  --loss NAME=LOSS   loss of a workload, up to which time is measured; may be repeated
  --mpirun-args WORDS
                     arguments of mpirun, in place of those that choose collectives which reach the wire's rate
  --program PATH     the kadam-train to run (default: build/bin/kadam-train, built first)
  --output FOLDER    folder for cases.jsonl, network.md, network.svg and the runs (default results/network); cases
                     there that the same program made are not run again
  --write            also puts tables and picture into docs/end_to_end.md
  --help             this text

If the system allows no namespaces, it prints one sentence on standard error and exits with code 77.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

hosts=4
steps=12
peers=true
program=''
mpirun_words=$KADAM_LAB_MPIRUN_WORDS
output=$KADAM_ROOT/results/network
cables=()
arguments=()
while (($#)); do
  case $1 in
    --rates | --algorithms | --workloads | --steps | --hosts | --loss | --mpirun-args | --program | --output)
      (($# > 1)) || stop "$1 needs a value; see scripts/bench_network.sh --help."
      ;;&
    --steps | --hosts) require_count "$1" "$2" 9999 ;;&
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
  --data "$KADAM_CACHE/data/bible-kjv.txt" "--mpirun-args=$mpirun_words")
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
