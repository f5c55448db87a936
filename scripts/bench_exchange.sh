#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kadam's exchanges and MPI's all-reduce, by each of its algorithms, on hosts with a slow network.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/bench_exchange.sh [options]

Measures every exchange of Kadam, and Open MPI's all-reduce by each of its algorithms, between hosts of a network lab
(scripts/netlab.sh, needs root) at several rates, and prints a table: seconds, bytes counted and sent, ratio to what
the wire could do, how many times faster than the best dense exchange. Then exchanges of 100,000 elements between
hosts that are far apart: how many round trips each takes. Options:

  --rates LIST         of each host's cable (default 100mbit,1gbit,10gbit)
  --algorithms LIST    of Open MPI's all-reduce: all (default), or some of its_choice, basic_linear, nonoverlapping,
                       recursive_doubling, ring, segmented_ring, rabenseifner
  --elements N         of a vector (default 25000000); takes about 32 bytes of memory on each rank
  --hosts N            on one switch (default 4)
  --ranks-per-host N   (default 1); more share the cable, and the limit is still that of one alone
  --seconds N          for each dense exchange, and three times as many for all others together (default 45)
  --repetitions N      runs of each exchange, if there is time; medians count (default 7)
  --out FILE           for figures, a JSON object a line (default results/exchange.jsonl)
  --write              also puts the table into docs/performance.md
  --program PATH       the kadam-bench to measure (default: build/bin/kadam-bench, built first)
  --help               this text

At 100mbit it takes about ten minutes; with --algorithms ring --seconds 10 one and a half. Where network namespaces are
not to be had it exits with 77.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

rates=100mbit,1gbit,10gbit
algorithms=all
elements=25000000
hosts=4
ranks_per_host=1
seconds=45
repetitions=7
out=$KADAM_ROOT/results/exchange.jsonl
program=''
write=()
while (($#)); do
  case $1 in
    --rates | --algorithms | --elements | --hosts | --ranks-per-host | --seconds | --repetitions | --out | --program)
      (($# > 1)) || stop "$1 needs a value; see scripts/bench_exchange.sh --help."
      ;;&
    --elements | --hosts | --ranks-per-host | --seconds | --repetitions)
      [[ $2 =~ ^[1-9][0-9]*$ ]] || stop "$1 needs a number from 1 on, not $2."
      ;;&
    --rates)
      [[ $2 =~ ^[1-9][0-9]*(kbit|mbit|gbit)(,[1-9][0-9]*(kbit|mbit|gbit))*$ ]] ||
        stop "--rates needs a list as 100mbit,1gbit, not $2."
      rates=$2 && shift 2
      ;;
    --algorithms)
      [[ $2 =~ ^[a-z_]+(,[a-z_]+)*$ ]] || stop "--algorithms needs a list as ring,rabenseifner, not $2."
      algorithms=$2 && shift 2
      ;;
    --elements) elements=$2 && shift 2 ;;
    --hosts) hosts=$2 && shift 2 ;;
    --ranks-per-host) ranks_per_host=$2 && shift 2 ;;
    --seconds) seconds=$2 && shift 2 ;;
    --repetitions) repetitions=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    --write) write=(--write) && shift ;;
    --program) program=$2 && shift 2 ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/bench_exchange.sh --help." ;;
  esac
done
((hosts * ranks_per_host > 1)) || stop "One rank has nobody to exchange with: more --hosts or --ranks-per-host."

ensure_program kadam-bench
forget_openblas_settings

exec "$here/netlab.sh" with --hosts "$hosts" -- python3 "$here/bench_exchange/main.py" --netlab "$here/netlab.sh" \
  --program "$program" --rates "$rates" --algorithms "$algorithms" --elements "$elements" --hosts "$hosts" \
  --ranks-per-host "$ranks_per_host" --seconds "$seconds" --repetitions "$repetitions" --out "$out" "${write[@]}"
