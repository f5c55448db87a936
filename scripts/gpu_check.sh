#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Everything that only a GPU can tell: the tests on it, and the kernels against its memory.
# shellcheck disable=SC2317 # functions that others call by their name
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/gpu_check.sh [options]

Builds Kadam for the GPU of this machine, runs the tests on it, measures every kernel against a copy in its memory
and, where a PyTorch that sees the GPU can be imported, against PyTorch's Adam and top-k. Downloads and installs
nothing. Without a GPU it does nothing and exits with 77. Call it again to go on where it was stopped. Options:

  --sources FOLDER  what --collect made (default: the sources that scripts/setup.sh keeps, and what is installed)
  --collect FOLDER  copies all that the build needs to FOLDER, for a machine without a network, and stops; the
                    machine that it is called on needs no GPU, but Debian's packages (scripts/setup.sh)
  --elements N      of a vector (default 67108864)
  --jobs N          compile N files at a time (default: one per core)
  --out FOLDER      for figures and logs (default results/gpu)
  --write           also puts the table into docs/performance.md
  --dry-run         prints the commands instead of running them
  --help            this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/kokkos.sh
source "$here/internal/kokkos.sh"

sources=''
collect=''
elements=67108864
jobs=$(nproc)
out=$KADAM_ROOT/results/gpu
dry_run=false
write=()
while (($#)); do
  case $1 in
    --sources | --collect | --elements | --jobs | --out)
      (($# > 1)) || stop "$1 needs a value; see scripts/gpu_check.sh --help."
      ;;&
    --elements | --jobs)
      [[ $2 =~ ^[1-9][0-9]*$ ]] || stop "$1 needs a number from 1 on, not $2."
      ;;&
    --sources) sources=$2 && shift 2 ;;
    --collect) collect=$2 && shift 2 ;;
    --elements) elements=$2 && shift 2 ;;
    --jobs) jobs=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    --write) write=(--write) && shift ;;
    --dry-run) dry_run=true && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/gpu_check.sh --help." ;;
  esac
done

# ---- the GPU ------------------------------------------------------------------------------------------------

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

# The option that builds Kokkos for it.
kokkos_architecture() {
  local generation
  if [[ $backend == hip ]]; then
    echo "Kokkos_ARCH_AMD_${architecture^^}"
    return
  fi
  case $architecture in
    7[02]) generation=VOLTA ;;
    75) generation=TURING ;;
    8[067]) generation=AMPERE ;;
    89) generation=ADA ;;
    90) generation=HOPPER ;;
    100 | 120) generation=BLACKWELL ;;
    *) stop "Kokkos is not known to have an option for compute capability ${architecture%?}.${architecture: -1}." ;;
  esac
  echo "Kokkos_ARCH_$generation$architecture"
}

# ---- what the build needs -----------------------------------------------------------------------------------

kept_sources=$KADAM_CACHE/sources/$KADAM_CARRIER-$KADAM_CARRIER_VERSION
prefix_packages=(libfmt-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libgtest-dev zlib1g-dev)

# The files of a Debian package that a compiler, CMake and the loader want, and the libraries that links name.
files_of_package() {
  local file
  dpkg -L "$1" 2>/dev/null | grep -E '^/usr/(include|lib|share/cmake)/' | while read -r file; do
    if [[ -L $file ]]; then
      printf '%s\n' "${file%%.so*}".so*
    elif [[ -f $file ]]; then
      echo "$file"
    fi
  done
}

collect_into() {
  local folder=$1 package files
  [[ -d $kept_sources ]] || stop "There are no sources to collect: call scripts/setup.sh first."
  mkdir -p "$folder/prefix"
  cp -r "$kept_sources/kokkos" "$kept_sources/kokkos-kernels" "$folder"
  for package in "${prefix_packages[@]}"; do
    mapfile -t files < <(files_of_package "$package")
    ((${#files[@]})) || stop "$package is not installed: call scripts/setup.sh first."
    tar -C / --dereference -cf - "${files[@]#/}" | tar -C "$folder/prefix" -xf - --strip-components=1
  done
  say "Collected in $folder: $(du -sh "$folder" | cut -f 1)."
}

# Nothing is fetched here.
fetch_sources() {
  carried_sources=${sources:-$kept_sources}
  [[ -d $carried_sources/kokkos && -d $carried_sources/kokkos-kernels ]] ||
    stop "$carried_sources has no kokkos and kokkos-kernels: call scripts/setup.sh, or give --sources (see --help)."
}

# ---- the steps ----------------------------------------------------------------------------------------------

print_command() {
  local words=("$@")
  if [[ $1 == into ]]; then words=("${@:3}"); fi
  printf '%q ' "${words[@]}"
  if [[ $1 == into ]]; then printf '> %q' "$2"; fi
  printf '\n'
}

# into FILE COMMAND...
into() { "${@:2}" >"$1"; }

# step LOG WHAT COMMAND...: runs it, or prints it.
step() {
  if [[ $dry_run == true ]]; then
    print_command "${@:3}"
  else
    say "$2."
    run_logged "$out/$1" "$2" "${@:3}"
  fi
}

if [[ $dry_run == true ]]; then
  install_once() {
    installed=$folder/$1
    print_command cmake -S "$3" -B "$installed-build" "${@:4}"
    print_command cmake --build "$installed-build" --parallel "$jobs"
    print_command cmake --install "$installed-build" --prefix "$installed"
  }
fi

# shellcheck disable=SC2034 # scripts/internal/kokkos.sh reads these
choose_compilers() {
  native=false checked=false fresh=false kokkos_source='' kokkos_kernels_source='' user_cmake_arguments=()
  KADAM_CUDA_ARCHITECTURE=$architecture
  KADAM_CUDA_KOKKOS_ARCH=$kokkos_option
  KADAM_HIP_KOKKOS_ARCH=$kokkos_option
  compiler=${CXX:-c++}
  compiler_arguments=()
  if [[ $backend == hip && -z ${CXX:-} ]]; then
    compiler=hipcc
    if [[ -x $KADAM_HIP_COMPILER ]]; then
      compiler=$KADAM_HIP_COMPILER
      compiler_arguments=(-DCMAKE_CXX_FLAGS="$KADAM_HIP_FLAGS")
    fi
    compiler_arguments+=(-DCMAKE_CXX_COMPILER="$compiler")
  fi
}

prepare_kokkos() {
  build_kokkos
  build_kokkos_kernels
  if [[ $dry_run == false ]]; then printf '%s\n' "$kokkos_dir" "$kokkos_kernels_dir" >"$folder/kadam-dependencies"; fi
}

build_kadam() {
  local mpi=OFF arguments=() dependencies=("$kokkos_dir" "$kokkos_kernels_dir")
  if [[ $dry_run == false ]]; then mapfile -t dependencies <"$folder/kadam-dependencies"; fi
  if command -v mpicxx >/dev/null && command -v mpirun >/dev/null; then mpi=ON; fi
  if [[ -n $sources ]]; then arguments+=(-DCMAKE_PREFIX_PATH="$sources/prefix"); fi
  step configure.log "Configuring Kadam for $gpu" cmake -S "$KADAM_ROOT" -B "$folder" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DKADAM_ENABLE_MPI="$mpi" -DKokkos_DIR="${dependencies[0]}" \
    -DKokkosKernels_DIR="${dependencies[1]}" -DPython3_EXECUTABLE="$python" "${compiler_arguments[@]}" \
    "${arguments[@]}"
  step build.log "Building the programs and the tests" \
    cmake --build "$folder" --parallel "$jobs" --target all kadam_tests
}

# One at a time: they share the GPU. A test that fails does not keep the kernels from being measured.
run_tests() {
  step tests.log "Running the tests" \
    ctest --test-dir "$folder" --output-on-failure --no-tests=error --output-junit "$out/tests.xml"
}

measure() {
  local torch=(python3 "$here/bench_peers/peers.py" --device cuda --elements "$elements" --repetitions 21)
  step kernels.log "Measuring the kernels" \
    into "$out/kernels.jsonl" "$folder/bin/kadam-bench" kernels --json --elements "$elements"
  if [[ $dry_run == true ]] || python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    step peers.log "Measuring PyTorch" into "$out/peers.jsonl" "${torch[@]}"
  fi
}

if [[ -n $collect ]]; then
  collect_into "$collect"
  exit
fi
if ! find_gpu; then
  echo "kadam: No GPU here (neither nvidia-smi nor rocminfo shows one): nothing was built or run."
  exit 77
fi
kokkos_option=$(kokkos_architecture)
if [[ $backend == cuda && $dry_run == false ]] && ! command -v nvcc >/dev/null; then
  stop "There is $gpu, but no nvcc in PATH (CUDA 12 or later) to compile for it."
fi
if [[ -n $sources ]]; then sources=$(cd "$sources" && pwd); fi
folder=$KADAM_ROOT/build-gpu-$architecture
python=$(command -v python3)
if [[ -x $KADAM_CACHE/python/bin/python ]]; then python=$KADAM_CACHE/python/bin/python; fi
mkdir -p "$KADAM_CACHE/installed" # with the lock, and the header that nvcc is given
if [[ $dry_run == false ]]; then
  mkdir -p "$out" "$folder"
  rm -f "$out/tests.xml" "$out/kernels.jsonl" "$out/peers.jsonl"
fi

choose_compilers
if [[ $dry_run == true ]]; then
  prepare_kokkos
else
  kokkos_dir='' kokkos_kernels_dir=''
  with_lock "$KADAM_CACHE/lock" prepare_kokkos
fi
build_kadam
status=0
(run_tests) || status=$?
measure
report=(python3 "$here/gpu_check/main.py" --gpu "$gpu" --elements "$elements" --figures "$out" "${write[@]}")
if [[ $dry_run == true ]]; then
  print_command "${report[@]}"
else
  "${report[@]}"
fi
exit "$status"
