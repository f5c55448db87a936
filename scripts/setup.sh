#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/setup.sh [options] [-- CMAKE_ARGUMENT...]

Installs what is missing, builds Kadam and prepares the example data. Call it again at any time: it does only the
work that is left. Programs are in build/bin (release) or build-<preset>/bin.

  --preset NAME                   release (default), developer, debug, asan, tsan, host-teams, no-mpi, mpich, cuda, hip,
                                  hip-apu or install: see CMakePresets.json
  --backend NAME                  cuda or hip: the same as --preset NAME
  --architecture NAME             architecture of the GPU: 80, 90, gfx942 ...: builds Kokkos for it (default 90, gfx90a)
  --build FOLDER                  build in this folder (default: build, or build-<preset> for all but release)
  --target NAME                   build only this target (may be repeated)
  --kokkos-source PATH            build Kokkos from this folder or tarball
  --kokkos-kernels-source PATH    the same for Kokkos Kernels
  --fresh                         ignore the cache and an earlier configuration, and build the dependencies again
  --no-install                    install no packages; CMake says what is missing
  --jobs N                        compile N files at a time (default: one per core)
  --help                          this text

Arguments after -- go to CMake. Later calls for the same build folder, from any script, use them again: a later argument
replaces an earlier one of the same name, and -- with nothing after it (or --fresh) forgets them all. CXX and CXXFLAGS
from the environment are remembered in the same way. If the flags contain -march or -mcpu, nothing is compiled for this
machine alone:
  scripts/setup.sh -- -DCMAKE_CXX_COMPILER=clang++-16 -DCMAKE_CXX_FLAGS=-march=x86-64-v3
CMAKE_SYSTEM_NAME and CMAKE_SYSTEM_PROCESSOR, for another kind of machine, also go to the dependencies.

As root, the script installs packages with apt; elsewhere it prints their names and stops until they are there. It uses
a Kokkos that CMake finds (CMAKE_PREFIX_PATH, Kokkos_ROOT, a module, Spack); otherwise it builds Kokkos and Kokkos
Kernels once per user, in ${XDG_CACHE_HOME:-~/.cache}/kadam.
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
architecture=''
folder=''
targets=()
kokkos_source=''
kokkos_kernels_source=''
fresh=false
install=true
jobs=$(nproc)
new_arguments=()
forgets=false
reconfigure=false

while (($#)); do
  case $1 in
    --preset | --backend | --architecture | --build | --target | --kokkos-source | --kokkos-kernels-source | --jobs)
      (($# > 1)) || stop "$1 needs a value; see scripts/setup.sh --help."
      ;;&
    --jobs) require_count "$1" "$2" ;;&
    --preset | --backend) preset=$2 && shift 2 ;;
    --architecture) architecture=$2 && shift 2 ;;
    --build) folder=$(realpath -m "$2") || exit; shift 2 ;;
    --target) targets+=("$2") && shift 2 ;;
    --kokkos-source) kokkos_source=$2 && shift 2 ;;
    --kokkos-kernels-source) kokkos_kernels_source=$2 && shift 2 ;;
    --jobs) jobs=$2 && shift 2 ;;
    --fresh) fresh=true forgets=true && shift ;;
    --no-install) install=false && shift ;;
    --help | -h) usage && exit ;;
    --)
      shift && new_arguments=("$@")
      if (($# == 0)); then forgets=true; fi
      break
      ;;
    *) stop "Unknown option $1; see scripts/setup.sh --help." ;;
  esac
done

if ! grep -q "\"configurePreset\": \"$preset\"" "$KADAM_ROOT/CMakePresets.json"; then
  stop "There is no preset $preset; see scripts/setup.sh --help."
fi
folder=${folder:-$(build_folder "$preset")}
if [[ -n $architecture ]]; then
  [[ $preset == cuda || $preset == hip ]] || stop "--architecture is for a GPU: give it with --backend cuda or hip."
  choose_architecture "$architecture"
fi
mkdir -p "$folder"

# ---- what the user said to CMake, now and earlier ---------------------------------------------------------

# argument_name -DNAME:TYPE=VALUE: NAME; of another argument, itself.
argument_name() {
  local name=${1#-D}
  if [[ $name != "$1" ]]; then name=${name%%=*}; fi
  echo "${name%%:*}"
}

# Writes user_cmake_arguments: those of earlier calls for this folder, then those of this one; and whether CMake has to
# forget some.
remember_arguments() {
  local file=$folder/kadam-arguments earlier=() argument name
  local -A said=()
  if [[ -n ${CXX:-} ]]; then new_arguments=("-DCMAKE_CXX_COMPILER=$CXX" "${new_arguments[@]}"); fi
  if [[ -n ${CXXFLAGS:-} ]]; then new_arguments=("-DCMAKE_CXX_FLAGS=$CXXFLAGS" "${new_arguments[@]}"); fi
  for argument in "${new_arguments[@]}"; do said[$(argument_name "$argument")]=1; done
  user_cmake_arguments=()
  if [[ -s $file ]]; then mapfile -t earlier <"$file"; fi
  if [[ $forgets == true && ${#earlier[@]} != 0 ]]; then earlier=() reconfigure=true; fi
  for argument in "${earlier[@]}"; do
    name=$(argument_name "$argument")
    if [[ -z ${said[$name]:-} ]]; then user_cmake_arguments+=("$argument"); fi
  done
  if ((${#user_cmake_arguments[@]})); then
    say "From earlier calls: ${user_cmake_arguments[*]} (a bare -- forgets them)."
  fi
  user_cmake_arguments+=("${new_arguments[@]}")
  printf '%s\n' "${user_cmake_arguments[@]}" | sed '/^$/d' >"$file"
}

# user_value NAME: what the user said last of a variable of CMake.
user_value() {
  local argument
  for argument in "${user_cmake_arguments[@]}"; do
    if [[ $argument == -D* && $(argument_name "$argument") == "$1" ]]; then echo "${argument#*=}"; fi
  done | tail -n 1
}

# said_off NAME: whether the user said that of an option of CMake.
said_off() { [[ $(user_value "$1") =~ ^(OFF|off|NO|no|FALSE|false|0)$ ]]; }

remember_arguments

# What a preset and the user's arguments mean for the dependencies.
backend=host
native=false
checked=false
python=false
case $preset in
  cuda | hip) backend=$preset ;;
  hip-apu) backend=hip ;;
  debug | asan) native=true checked=true ;;
  release | developer) native=true python=true ;;
  tsan | no-mpi | mpich | host-teams) native=true ;;
esac
if [[ $(user_value CMAKE_CXX_FLAGS) =~ -m(arch|cpu)= ]]; then native=false; fi
if said_off KADAM_ENABLE_NATIVE_ARCH; then native=false; fi
kokkos_kernels=true
if said_off KADAM_ENABLE_DRIVERS && said_off KADAM_ENABLE_KOKKOS_KERNELS && said_off KADAM_ENABLE_WORKLOADS; then
  kokkos_kernels=false
fi
compiler=$(user_value CMAKE_CXX_COMPILER)
compiler_arguments=()
if [[ $preset == hip-apu ]]; then
  if [[ -n $compiler ]]; then
    KADAM_HIP_KOKKOS_ARCH=$KADAM_APU_KOKKOS_ARCH
  else
    KADAM_HIP_KOKKOS_ARCH=$KADAM_APU_STAND_IN_KOKKOS_ARCH
    KADAM_HIP_FLAGS+=" $KADAM_APU_STAND_IN_FLAGS"
  fi
fi
if [[ -n $compiler ]]; then
  compiler_arguments=(-DCMAKE_CXX_COMPILER="$compiler")
elif [[ $backend == hip ]]; then
  compiler=$KADAM_HIP_COMPILER
  compiler_arguments=(-DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$KADAM_HIP_FLAGS")
else
  compiler=c++
fi
# Of another kind of machine the dependencies are as well.
for name in CMAKE_SYSTEM_NAME CMAKE_SYSTEM_PROCESSOR; do
  if [[ -n $(user_value "$name") ]]; then compiler_arguments+=("-D$name=$(user_value "$name")"); fi
done

install_packages() {
  local tables=("$KADAM_PACKAGES_BUILD")
  case $preset in
    no-mpi) ;;
    mpich) tables+=("$KADAM_PACKAGES_MPICH") ;;
    *) tables+=("$KADAM_PACKAGES_MPI") ;;
  esac
  if [[ $python == true ]]; then tables+=("$KADAM_PACKAGES_PYTHON"); fi
  if [[ $backend == hip ]]; then tables+=("$KADAM_PACKAGES_HIP"); fi
  ensure_packages "${tables[@]}"
  if [[ $preset != install ]]; then want_packages "$KADAM_PACKAGES_DATA"; fi
}

prepare_dependencies() {
  local needs=("${KADAM_PYTHON_REPORT_NEEDS[@]}" "${KADAM_PYTHON_TEST_NEEDS[@]}")
  if [[ $python == true ]]; then needs+=("${KADAM_PYTHON_MODULE_NEEDS[@]}"); fi
  ensure_python "${needs[@]}"
  ensure_kokkos
  printf '%s\n' "$kokkos_dir" "$kokkos_kernels_dir" >"$folder/kadam-dependencies"
}

cached_compiler() {
  local cached
  cached=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$folder/CMakeCache.txt" 2>/dev/null)
  command -v "${cached:-$compiler}"
}

configure() {
  local dependencies arguments=()
  mapfile -t dependencies <"$folder/kadam-dependencies"
  # CMake keeps what it was told once; and forgets half of it when its compiler changes.
  if [[ $fresh == true || $reconfigure == true || $(cached_compiler) != "$(command -v "$compiler")" ]]; then arguments+=(--fresh); fi
  run_logged "$folder/configure.log" "Configuring Kadam" cmake --preset "$preset" -B "$folder" "${arguments[@]}" \
    -DKokkos_DIR="${dependencies[0]}" -DKokkosKernels_DIR="${dependencies[1]}" \
    -DPython3_EXECUTABLE="$KADAM_VENV/bin/python" "${compiler_arguments[@]}" "${user_cmake_arguments[@]}"
}

build() {
  local command=(cmake --build "$folder" --parallel "$jobs")
  if ((${#targets[@]})); then command+=(--target "${targets[@]}"); fi
  if [[ -n ${CI:-} ]]; then command+=(-- -k 0); fi # every error at once
  if [[ -t 1 ]]; then
    "${command[@]}" || stop "The build failed; the compiler's messages are above."
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
if [[ $backend == cuda ]] && ! command -v nvcc >/dev/null; then
  stop "The cuda preset needs nvcc in PATH (CUDA 12 or later)."
fi
with_lock "$KADAM_CACHE/lock" prepare_dependencies
with_lock "$folder/kadam-lock" configure_and_build
prepare_data
say "Ready: $folder/bin"
