#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/setup.sh [options] [-- CMAKE_ARGUMENT...]

Installs what is missing, builds Kadam and prepares the example data. Call it again at any time: it does what is
left to do. Programs are in build/bin (release) or build-<preset>/bin.

  --preset NAME                   release (default), debug, asan, tsan, no-mpi, mpich, cuda, hip or install:
                                  see CMakePresets.json
  --backend NAME                  cuda or hip: the same as --preset NAME
  --target NAME                   build only this target (may be repeated)
  --kokkos-source PATH            build Kokkos from this folder or tarball
  --kokkos-kernels-source PATH    the same for Kokkos Kernels
  --fresh                         ignore the cache and an earlier configuration: build the dependencies anew
  --no-install                    install no Debian packages; CMake says what is missing
  --jobs N                        compile N files at a time (default: one per core)
  --help                          this text

A Kokkos that CMake finds (CMAKE_PREFIX_PATH, Kokkos_ROOT, a module, Spack) is used; else Kokkos and Kokkos Kernels
are built once per user, in ${XDG_CACHE_HOME:-~/.cache}/kadam.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/packages.sh
source "$here/internal/packages.sh"
# shellcheck source=scripts/internal/python.sh
source "$here/internal/python.sh"
# shellcheck source=scripts/internal/kokkos.sh
source "$here/internal/kokkos.sh"

preset=release
targets=()
kokkos_source=''
kokkos_kernels_source=''
fresh=false
install=true
jobs=$(nproc)
user_cmake_arguments=()

while (($#)); do
  case $1 in
    --preset | --backend | --target | --kokkos-source | --kokkos-kernels-source | --jobs)
      (($# > 1)) || stop "$1 needs a value; see scripts/setup.sh --help."
      ;;&
    --preset | --backend) preset=$2 && shift 2 ;;
    --target) targets+=("$2") && shift 2 ;;
    --kokkos-source) kokkos_source=$2 && shift 2 ;;
    --kokkos-kernels-source) kokkos_kernels_source=$2 && shift 2 ;;
    --jobs) jobs=$2 && shift 2 ;;
    --fresh) fresh=true && shift ;;
    --no-install) install=false && shift ;;
    --help | -h) usage && exit ;;
    --) shift && user_cmake_arguments=("$@") && break ;;
    *) stop "Unknown option $1; see scripts/setup.sh --help." ;;
  esac
done

# What a preset means for the dependencies.
backend=host
native=false
checked=false
case $preset in
  cuda | hip) backend=$preset ;;
  debug | asan) native=true checked=true ;;
  release | tsan | no-mpi | mpich) native=true ;;
esac
compiler=${CXX:-c++}
compiler_arguments=()
if [[ $backend == hip && -z ${CXX:-} ]]; then
  compiler=$KADAM_HIP_COMPILER
  compiler_arguments=(-DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$KADAM_HIP_FLAGS")
fi

install_packages() {
  local tables=("$KADAM_PACKAGES_BUILD")
  case $preset in
    no-mpi) ;;
    mpich) tables+=("$KADAM_PACKAGES_MPICH") ;;
    *) tables+=("$KADAM_PACKAGES_MPI") ;;
  esac
  if [[ $preset != install ]]; then tables+=("$KADAM_PACKAGES_DATA"); fi
  if [[ $preset == release ]]; then tables+=("$KADAM_PACKAGES_PYTHON"); fi
  if [[ $backend == hip ]]; then tables+=("$KADAM_PACKAGES_HIP"); fi
  ensure_packages "${tables[@]}"
}

prepare_dependencies() {
  local needs=("${KADAM_PYTHON_TEST_NEEDS[@]}")
  if [[ $preset == release ]]; then needs+=("${KADAM_PYTHON_MODULE_NEEDS[@]}"); fi
  ensure_python "${needs[@]}"
  ensure_kokkos
  printf '%s\n' "$kokkos_dir" "$kokkos_kernels_dir" >"$folder/kadam-dependencies"
}

configure() {
  local dependencies arguments=()
  mapfile -t dependencies <"$folder/kadam-dependencies"
  if [[ $fresh == true ]]; then arguments+=(--fresh); fi
  run_logged "$folder/configure.log" "Configuring Kadam" cmake --preset "$preset" "${arguments[@]}" \
    -DKokkos_DIR="${dependencies[0]}" -DKokkosKernels_DIR="${dependencies[1]}" \
    -DPython3_EXECUTABLE="$KADAM_VENV/bin/python" "${compiler_arguments[@]}" "${user_cmake_arguments[@]}"
}

build() {
  local command=(cmake --build "$folder" --parallel "$jobs")
  if ((${#targets[@]})); then command+=(--target "${targets[@]}"); fi
  if [[ -n ${CI:-} ]]; then command+=(-- -k 0); fi # every error at once
  if [[ -t 1 ]]; then
    "${command[@]}" || stop "The build failed; the compiler's words are above."
  else
    run_logged "$folder/build.log" "The build" "${command[@]}"
  fi
}

# The text that the transformer example learns; Fashion-MNIST is read where its package puts it.
prepare_data() {
  local text=$KADAM_CACHE/data/bible-kjv.txt
  if [[ -s $text ]] || ! command -v bible >/dev/null; then return; fi
  mkdir -p "$(dirname "$text")"
  bible -l0 -f 'Gen1:1-Rev22:21' </dev/null >"$text.$$"
  mv "$text.$$" "$text"
}

configure_and_build() {
  say "Configuring and building in $folder."
  cd "$KADAM_ROOT"
  configure
  build
}

if [[ $install == true ]]; then install_packages; fi
if ! (cd "$KADAM_ROOT" && cmake --list-presets) | grep -q "^  \"$preset\""; then
  stop "There is no preset $preset; see scripts/setup.sh --help."
fi
if [[ $backend == cuda ]] && ! command -v nvcc >/dev/null; then
  stop "The cuda preset needs nvcc in PATH (CUDA 12 or later)."
fi
folder=$(build_folder "$preset")
mkdir -p "$folder"
with_lock "$KADAM_CACHE/lock" prepare_dependencies
with_lock "$folder/kadam-lock" configure_and_build
prepare_data
say "Ready: $folder/bin"
