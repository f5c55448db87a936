#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Everything that only a GPU can tell: its kernels against its memory, and the tests on it.
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/gpu_check.sh [options] [-- CMAKE_ARGUMENT...]
scripts/gpu_check.sh --pack FILE [options] [-- CMAKE_ARGUMENT...]
scripts/gpu_check.sh --report FOLDER [--write]

Builds kadam-bench and tests for the GPU of this machine (nvcc or hipcc in PATH), measures and tests on it, and prints
the results. Without a GPU it does nothing and exits with code 77. If it was stopped, call it again to go on.

For a machine that has a GPU but no compiler, and perhaps nothing else:
  scripts/gpu_check.sh --pack gpu-check.tar.xz       here; at most 60 MiB
  tar -xf gpu-check.tar.xz                           there
  kadam-gpu-check/gpu_check.sh --run --out FOLDER    there; --help lists the stages; call it again to go on
  scripts/gpu_check.sh --report FOLDER               here, with the folder

  --pack FILE          packs all that --run needs, beside a driver, cuBLAS, a shell and coreutils: a .tar.xz or .tar.gz
  --report FOLDER      prints tables of the results that --run left in the folder
  --write              also puts them into docs/performance.md
  --backend NAME       cuda (default), hip or host (to try the script without a GPU)
  --architecture NAME  architecture of the GPU: 80, 90, gfx942, ... (default: the GPU here; for --pack 90, gfx90a)
  --build FOLDER       build in this folder (default build-gpu-ARCHITECTURE)
  --no-build           take the programs that are in the folder already
  --jobs N             compile N files at a time (default: one per core)
  --out FOLDER         folder for figures and logs (default results/gpu)
  --from FOLDER, --minutes N, --again, --elements N, --only STAGE...
                       the same as for --run
  --help               this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/kokkos.sh
source "$here/internal/kokkos.sh"
# shellcheck source=scripts/gpu_check/bundle.sh
source "$here/gpu_check/bundle.sh"

pack='' report='' backend='' architecture='' folder='' build=true jobs=$(nproc)
out=$KADAM_ROOT/results/gpu
write=() run_arguments=() cmake_arguments=()
while (($#)); do
  case $1 in
    --pack | --report | --backend | --architecture | --build | --jobs | --out | --from | --minutes | --elements | --only)
      (($# > 1)) || stop "$1 needs a value; see scripts/gpu_check.sh --help."
      ;;&
    --jobs | --minutes | --elements) require_count "$1" "$2" ;;&
    --pack) pack=$2 && shift 2 ;;
    --report) report=$2 && shift 2 ;;
    --backend) backend=$2 && shift 2 ;;
    --architecture) architecture=$2 && shift 2 ;;
    --build) folder=$(realpath -m "$2") && shift 2 ;;
    --no-build) build=false && shift ;;
    --jobs) jobs=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    --from | --minutes | --elements) run_arguments+=("$1" "$2") && shift 2 ;;
    --again) run_arguments+=("$1") && shift ;;
    --write) write=(--write) && shift ;;
    --only) run_arguments+=("$@") && break ;;
    --run) stop "Only the script in a bundle of --pack has --run: kadam-gpu-check/gpu_check.sh --run." ;;
    --help | -h) usage && exit ;;
    --) shift && cmake_arguments=("$@") && break ;;
    *) stop "Unknown option $1; see scripts/gpu_check.sh --help." ;;
  esac
done

say_report() { python3 "$here/gpu_check/main.py" "${write[@]}" "$1"; }

# Of the first one: writes backend (cuda|hip), gpu (its name) and architecture (90, gfx90a). False without one.
find_gpu() {
  local lines
  lines=$(nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null || true)
  if [[ $lines =~ ^([^$'\n']*),\ *([0-9]+)\.([0-9]+) ]]; then
    backend=cuda gpu=${BASH_REMATCH[1]} architecture=${BASH_REMATCH[2]}${BASH_REMATCH[3]}
    return
  fi
  lines=$({ rocminfo || rocm-smi --showhw; } 2>/dev/null || true)
  if [[ $lines =~ gfx([1-9][0-9a-f]+) ]]; then
    backend=hip architecture=gfx${BASH_REMATCH[1]} gpu="AMD gfx${BASH_REMATCH[1]}"
    return
  fi
  return 1
}

# NCCL takes one rank per GPU, and there is one.
build_programs_for_gpu() {
  local preset=$backend target arguments=()
  if [[ $backend == host ]]; then
    preset=release
  elif [[ -n $architecture ]]; then
    arguments=(--architecture "$architecture")
  fi
  for target in "${bundle_programs[@]}"; do arguments+=(--target "$target"); done
  "$here/setup.sh" --preset "$preset" --build "$folder" --jobs "$jobs" "${arguments[@]}" "$@" -- \
    -DKADAM_ENABLE_NCCL=OFF -DKADAM_ENABLE_NATIVE_ARCH=OFF -DKADAM_ENABLE_FORTRAN=OFF -DKADAM_ENABLE_PYTHON=OFF \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=6 "${cmake_arguments[@]}"
}

if [[ -n $report ]]; then
  [[ -d $report/state ]] || stop "$report has no results of a run: the folder 'state' is missing."
  say_report "$report"
  exit
fi
case ${backend:-cuda} in cuda | hip | host) ;; *) stop "There is no backend $backend; choose cuda, hip or host." ;; esac

if [[ -n $pack ]]; then
  case $pack in *.tar.xz | *.tar.gz) ;; *) stop "--pack $pack: expected a name that ends in .tar.xz or .tar.gz." ;; esac
  backend=${backend:-cuda}
  if [[ -n $architecture ]]; then choose_architecture "$architecture"; fi
  folder=${folder:-$KADAM_ROOT/build-gpu-${architecture:-$backend}}
  if [[ $build == true ]]; then build_programs_for_gpu; fi
  pack_bundle "$pack"
  exit
fi

if [[ $backend != host ]]; then
  wanted=("$backend" "$architecture")
  if ! find_gpu; then
    echo "kadam: No GPU here (neither nvidia-smi nor rocminfo shows one): nothing was built or run."
    exit 77
  fi
  if [[ ${wanted[0]:-$backend} != "$backend" || ${wanted[1]:-$architecture} != "$architecture" ]]; then
    echo "kadam: The GPU here is not the wanted one, but $gpu ($architecture): nothing was built or run."
    exit 77
  fi
  choose_architecture "$architecture"
fi
folder=${folder:-$KADAM_ROOT/build-gpu-${architecture:-$backend}}
if [[ $build == true ]]; then
  if [[ $backend == cuda ]] && ! command -v nvcc >/dev/null; then
    stop "There is $gpu, but no nvcc in PATH (CUDA 12 or later): add it, or use --pack on another machine."
  fi
  if ! command -v mpicxx >/dev/null || ! command -v mpirun >/dev/null; then
    bundle_programs=(kadam-bench kernels_test)
    cmake_arguments+=(-DKADAM_ENABLE_MPI=OFF)
  fi
  build_programs_for_gpu --no-install
fi
prepare_run_here "$folder/gpu-check"
status=0
"$folder/gpu-check/gpu_check.sh" --run --out "$out" "${run_arguments[@]}" || status=$?
say_report "$out"
exit "$status"
