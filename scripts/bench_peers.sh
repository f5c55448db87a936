#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kadam's kernels beside PyTorch's and DeepSpeed's on this machine's CPU.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/bench_peers.sh [options]

Measures Kadam's kernels and their counterparts in PyTorch and DeepSpeed, in turn, with the same sizes and threads:
Adam, top-k of a whole vector, sign with error feedback. Prints a table. Options:

  --elements N   elements of a vector (default 67108864); each takes about 65 bytes of memory
  --threads N    threads of each program (default: one per core)
  --rounds N     rounds, which measure both programs one after the other; medians count (default 5)
  --write        also puts the table into docs/performance.md
  --program PATH the kadam-bench to measure (default: build/bin/kadam-bench, built first)
  --help         this text

The first call installs PyTorch and DeepSpeed (5.4 GB) into ${XDG_CACHE_HOME:-~/.cache}/kadam/python-peers.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"

torch=torch==2.15.0
deepspeed=deepspeed==0.19.8
# numpy packs bits; DeepSpeed compiles its Adam with setuptools and ninja when it is first used.
beside_torch=(numpy==2.4.6 setuptools==84.2.1 ninja==1.13.2)
peers=$KADAM_CACHE/python-peers

elements=67108864
threads=$(nproc)
rounds=5
program=''
write=()
while (($#)); do
  case $1 in
    --elements | --threads | --rounds | --program)
      (($# > 1)) || stop "$1 needs a value; see scripts/bench_peers.sh --help."
      ;;&
    --elements | --threads | --rounds) require_count "$1" "$2" ;;&
    --elements) elements=$2 && shift 2 ;;
    --threads) threads=$2 && shift 2 ;;
    --rounds) rounds=$2 && shift 2 ;;
    --program) program=$2 && shift 2 ;;
    --write) write=(--write) && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/bench_peers.sh --help." ;;
  esac
done

# logged NAME COMMAND...: says nothing itself.
logged() {
  local log=$KADAM_CACHE/logs/$1.log
  mkdir -p "$(dirname "$log")"
  "${@:2}" >"$log" 2>&1 </dev/null
}

# once NAME COMMAND...: true from the first success on, as long as the versions stay the same.
once() {
  local stamp
  stamp=$peers/kadam-$1-$(sha256sum <<<"$torch $deepspeed ${beside_torch[*]}" | cut -c1-12)
  [[ -e $stamp ]] || { logged "$@" && touch "$stamp"; }
}

install_torch() {
  [[ -x $peers/bin/pip ]] || python3 -m venv --clear "$peers"
  "$peers/bin/pip" install "$torch" "${beside_torch[@]}"
}

# Its Adam compiles itself on first use, in a minute or two.
install_deepspeed() {
  DS_BUILD_OPS=0 "$peers/bin/pip" install --no-build-isolation "$deepspeed" &&
    "$peers/bin/python" "$here/bench_peers/peers.py" --elements 64 --threads 1 --repetitions 1 --need deepspeed
}

install_peers() {
  mkdir -p "$peers"
  if [[ -t 1 && ! -e $peers/bin/python ]]; then
    say "Installing PyTorch and DeepSpeed (5.4 GB) into $peers; this happens once."
  fi
  once peers-torch install_torch ||
    stop "PyTorch could not be installed (no network, or no room for 5.4 GB?);" \
      "pip's messages are in $KADAM_CACHE/logs/peers-torch.log"
  once peers-deepspeed install_deepspeed ||
    say "DeepSpeed could not be installed and is left out; the reason is in $KADAM_CACHE/logs/peers-deepspeed.log" >&2
}

ensure_program kadam-bench
forget_openblas_settings

# DeepSpeed looks for ninja, and keeps what it compiled.
export PATH=$peers/bin:$PATH TORCH_EXTENSIONS_DIR=$peers/extensions
with_lock "$KADAM_CACHE/lock-peers" install_peers
exec "$peers/bin/python" "$here/bench_peers/main.py" --program "$program" --elements "$elements" \
  --threads "$threads" --rounds "$rounds" "${write[@]}"
