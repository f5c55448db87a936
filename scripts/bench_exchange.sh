#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kadam's exchanges and MPI's all-reduce, by each of its algorithms, on hosts with a slow network.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/bench_exchange.sh [options]

Measures every exchange of Kadam, and Open MPI's all-reduce with each of its algorithms, between hosts of a network lab
(scripts/netlab.sh, needs root) at several rates. Prints a table: seconds, bytes counted and sent, ratio to the limit of
the wire, how many times faster than the best dense exchange. Then measures exchanges of 100,000 elements between hosts
that are far apart, and prints how many round trips each takes. Options:

  --rates LIST         rates of each host's cable (default 100mbit,1gbit,10gbit)
  --algorithms LIST    algorithms of Open MPI's all-reduce: all (default), or some of its_choice, basic_linear,
                       nonoverlapping, recursive_doubling, ring, segmented_ring, rabenseifner
  --elements N         elements of a vector (default 25000000); each takes about 32 bytes of memory on each rank
  --hosts N            number of hosts on one switch (default 4)
  --ranks-per-host N   ranks on each host (default 1); several share its cable, and its bytes set the limit
  --seconds N          time for each dense exchange, and three times as long for all others together (default 45)
  --repetitions N      runs of each exchange, if there is time; medians count (default 7)
  --out FILE           file for the figures, a JSON object per line (default results/exchange.jsonl)
  --write              also puts the table into docs/performance.md
  --program PATH       the kadam-bench to measure (default: build/bin/kadam-bench, built first)
  --help               this text

At 100mbit it takes about ten minutes; with --algorithms ring --seconds 10, one and a half. If the system allows no
network namespaces, it exits with code 77.
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
    --elements | --hosts | --ranks-per-host | --seconds | --repetitions) require_count "$1" "$2" ;;&
    --rates)
      [[ $2 =~ ^[1-9][0-9]*(kbit|mbit|gbit)(,[1-9][0-9]*(kbit|mbit|gbit))*$ ]] ||
        stop "--rates needs a list like 100mbit,1gbit, not $2."
      rates=$2 && shift 2
      ;;
    --algorithms)
      [[ $2 =~ ^[a-z_]+(,[a-z_]+)*$ ]] || stop "--algorithms needs a list like ring,rabenseifner, not $2."
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
((hosts * ranks_per_host > 1)) || stop "One rank cannot exchange with itself: give more --hosts or --ranks-per-host."

ensure_program kadam-bench
forget_openblas_settings

exec "$here/netlab.sh" with --hosts "$hosts" -- python3 "$here/bench_exchange/main.py" --netlab "$here/netlab.sh" \
  --program "$program" --rates "$rates" --algorithms "$algorithms" --elements "$elements" --hosts "$hosts" \
  --ranks-per-host "$ranks_per_host" --seconds "$seconds" --repetitions "$repetitions" --out "$out" "${write[@]}"
