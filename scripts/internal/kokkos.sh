# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds Kokkos and Kokkos Kernels, or builds them once per user. Sourced, never run.
#
# Reads:  backend (host|cuda|hip), architecture (of a GPU, or nothing), checked, native (true|false), fresh (true|false),
#         jobs, kokkos_source, kokkos_kernels (whether it is needed: true|false), kokkos_kernels_source,
#         user_cmake_arguments
# Writes: kokkos_dir, kokkos_kernels_dir, the folders of their CMake packages
# shellcheck disable=SC2154 # who calls the functions that read these sets them

# ---- an installed Kokkos ------------------------------------------------------------------------------------

# Asks CMake, so that CMAKE_PREFIX_PATH, Kokkos_ROOT, modules and Spack views work as they would for Kadam.
# Writes kokkos_dir and kokkos_kernels_dir, empty when not found.
probe_installed() {
  local folder
  folder=$(mktemp -d)
  cmake -S "$KADAM_ROOT/cmake/probe" -B "$folder" -DKADAM_BACKEND="$backend" \
    "${compiler_arguments[@]}" "${user_cmake_arguments[@]}" >"$folder/log" 2>&1 </dev/null ||
    { cat "$folder/log" >&2 && stop "CMake could not look for Kokkos; its output is above."; }
  kokkos_dir=$(sed -n 's/^-- kadam-probe Kokkos //p' "$folder/log")
  kokkos_kernels_dir=$(sed -n 's/^-- kadam-probe KokkosKernels //p' "$folder/log")
  rm -rf "$folder"
}

# ---- sources ------------------------------------------------------------------------------------------------

# fetch_sources: both projects at their pinned versions, in $KADAM_CACHE/sources.
fetch_sources() {
  local sources=$KADAM_CACHE/sources/$KADAM_CARRIER-$KADAM_CARRIER_VERSION temporary tarball
  carried_sources=$sources
  [[ ! -d $sources ]] || return 0
  say "Fetching the sources of Kokkos $KADAM_KOKKOS_VERSION and Kokkos Kernels $KADAM_KOKKOS_KERNELS_VERSION."
  ensure_python "${KADAM_PYTHON_CARRIER_NEEDS[@]}"
  temporary=$(mktemp -d "$KADAM_CACHE/temporary.XXXXXX")
  (
    cd "$temporary" || exit
    run_logged "$KADAM_CACHE/logs/fetch.log" \
      "Downloading Kokkos (without a network: give --kokkos-source and --kokkos-kernels-source, or CMAKE_PREFIX_PATH)" \
      "$KADAM_VENV/bin/pip" download --no-deps --no-binary :all: --no-build-isolation \
      "$KADAM_CARRIER==$KADAM_CARRIER_VERSION"
  )
  tarball=$temporary/$KADAM_CARRIER-$KADAM_CARRIER_VERSION.tar.gz
  sha256sum --check --status <<<"$KADAM_CARRIER_SHA256  $tarball" ||
    stop "$tarball is not the file that was pinned (SHA-256 differs); nothing was built."
  tar -xzf "$tarball" -C "$temporary" --strip-components=2 --wildcards '*/tpls/kokkos/*' '*/tpls/kokkos-kernels/*'
  rm "$tarball"
  mv "$temporary" "$sources"
}

# unpack_source PATH: prints the folder of a source that the user gave as a folder or a tarball.
unpack_source() {
  local path=$1 folder
  if [[ -d $path ]]; then
    (cd "$path" && pwd)
    return
  fi
  [[ -f $path ]] || stop "$path is neither a folder nor a tarball."
  folder=$KADAM_CACHE/sources/$(sha256sum "$path" | cut -c1-12)
  if [[ ! -d $folder ]]; then
    local temporary
    temporary=$(mktemp -d "$KADAM_CACHE/temporary.XXXXXX")
    tar -xf "$path" -C "$temporary" --strip-components=1 || stop "$path is not a tarball that tar can read."
    mv "$temporary" "$folder"
  fi
  echo "$folder"
}

# source_version FOLDER NAME: 4.7.0, from its CMakeLists.txt.
source_version() {
  sed -n "s/^ *set *( *$2_VERSION_\(MAJOR\|MINOR\|PATCH\) \+\([0-9]\+\) *).*/\2/Ip" "$1/CMakeLists.txt" |
    head -n 3 | paste -s -d .
}

# ---- the GPU ------------------------------------------------------------------------------------------------

# choose_architecture NAME: what everything is built for: a compute capability without its point (90), or gfx90a.
# shellcheck disable=SC2034 # read below
choose_architecture() {
  local generation
  if [[ $1 =~ ^gfx[1-9][0-9a-f]+$ ]]; then
    KADAM_HIP_KOKKOS_ARCH=Kokkos_ARCH_AMD_${1^^}
    return
  fi
  case $1 in
    7[02]) generation=VOLTA ;;
    75) generation=TURING ;;
    8[067]) generation=AMPERE ;;
    89) generation=ADA ;;
    90) generation=HOPPER ;;
    100 | 120) generation=BLACKWELL ;;
    *) stop "Kokkos has no known option for the architecture $1; give one like 90 (70 to 120) or gfx90a." ;;
  esac
  KADAM_CUDA_ARCHITECTURE=$1
  KADAM_CUDA_KOKKOS_ARCH=Kokkos_ARCH_$generation$1
}

# ---- builds -------------------------------------------------------------------------------------------------

compiler_identity() {
  "$compiler" --version | head -n 1
  if [[ $backend == cuda ]]; then nvcc --version | tail -n 1; fi
  if [[ $native == true ]]; then grep -m 1 -E '^(flags|Features)' /proc/cpuinfo; fi
}

# A folder of the user's may change under its name: its files' dates are part of the key.
source_identity() {
  echo "$1"
  if [[ $1 != "$KADAM_CACHE"/* ]]; then find "$1" -type f -not -path '*/.git/*' -printf '%p %s %T@\n' | sort; fi
}

# install_once NAME VERSION SOURCE CMAKE_ARGUMENT...: builds into the cache unless it is there; writes `installed`.
# What is in the cache is whole: it is built aside and renamed.
install_once() {
  local name=$1 version=$2 source=$3 key temporary log
  shift 3
  key=$name-$version-$backend-$(
    { echo "$*" && source_identity "$source" && compiler_identity; } | sha256sum | cut -c1-12
  )
  installed=$KADAM_CACHE/installed/$key
  if [[ -d $installed && $fresh == false ]]; then return; fi
  say "Building $name $version ($backend) into $installed; this happens once."
  temporary=$(mktemp -d "$KADAM_CACHE/temporary.XXXXXX")
  log=$KADAM_CACHE/logs/$key.log
  run_logged "$log" "Configuring $name" cmake -S "$source" -B "$temporary/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$installed" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@"
  run_logged "$log" "Building $name" cmake --build "$temporary/build" --parallel "$jobs"
  DESTDIR=$temporary/root run_logged "$log" "Installing $name" cmake --install "$temporary/build"
  rm -rf "$installed"
  mv "$temporary/root$installed" "$installed"
  rm -rf "$temporary"
}

# The header is copied so that every checkout shares the same words, hence the same build in the cache.
cuda_flags() {
  local header=$KADAM_ROOT/cmake/cuda13_compat.hpp copy
  copy=$KADAM_CACHE/cuda13_compat-$(sha256sum "$header" | cut -c1-12).hpp
  cp "$header" "$copy"
  echo "-std=c++20 -include $copy"
}

# older A B: whether version A is before B.
older() { [[ $1 != "$2" && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

# kokkos_options VERSION
kokkos_options() {
  local options=(-DCMAKE_CXX_STANDARD=20 -DKokkos_ENABLE_SERIAL=ON "${compiler_arguments[@]}")
  if [[ $checked == true ]]; then
    options+=(-DKokkos_ENABLE_DEBUG=ON -DKokkos_ENABLE_DEBUG_BOUNDS_CHECK=ON)
  fi
  if [[ $native == true ]]; then options+=(-DKokkos_ARCH_NATIVE=ON); fi
  case $backend in
    host) options+=(-DKokkos_ENABLE_OPENMP=ON) ;;
    cuda)
      options+=(-DKokkos_ENABLE_CUDA=ON -DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON
        -DCMAKE_CUDA_ARCHITECTURES="$KADAM_CUDA_ARCHITECTURE" "-D$KADAM_CUDA_KOKKOS_ARCH=ON"
        -DCMAKE_CUDA_FLAGS="$(cuda_flags)")
      # nvcc 13 lays out a member with [[no_unique_address]], as Views on mdspan have them, in one way for the host and
      # in another for the GPU, which then reads wrong addresses. Kokkos 4.7.2 has such members no more.
      if older "$1" 4.7.2; then options+=(-DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON); fi
      ;;
    hip) options+=(-DKokkos_ENABLE_HIP=ON "-D$KADAM_HIP_KOKKOS_ARCH=ON" -DKokkos_ENABLE_ROCTHRUST=OFF) ;;
  esac
  printf '%s\n' "${options[@]}"
}

build_kokkos() {
  local source options version
  if [[ -n $kokkos_source ]]; then
    source=$(unpack_source "$kokkos_source")
  else
    fetch_sources
    source=$carried_sources/kokkos
  fi
  version=$(source_version "$source" Kokkos)
  [[ -n $version ]] || stop "$source does not look like the source of Kokkos."
  mapfile -t options < <(kokkos_options "$version")
  install_once kokkos "$version" "$source" "${options[@]}"
  kokkos_dir=$installed/lib/cmake/Kokkos
}

# Only the dense BLAS part, for float, on the host's OpenBLAS or the GPU's cuBLAS.
build_kokkos_kernels() {
  local source version
  if [[ -n $kokkos_kernels_source ]]; then
    source=$(unpack_source "$kokkos_kernels_source")
  else
    fetch_sources
    source=$carried_sources/kokkos-kernels
  fi
  version=$(source_version "$source" KokkosKernels)
  [[ -n $version ]] || stop "$source does not look like the source of Kokkos Kernels."
  local options=("${compiler_arguments[@]}" -DCMAKE_CXX_STANDARD=20 -DKokkos_DIR="$kokkos_dir"
    -DKokkosKernels_ENABLE_ALL_COMPONENTS=OFF -DKokkosKernels_ENABLE_COMPONENT_BLAS=ON
    -DKokkosKernels_ADD_DEFAULT_ETI=OFF -DKokkosKernels_INST_FLOAT=ON)
  case $backend in
    host) options+=(-DKokkosKernels_ENABLE_TPL_BLAS=ON) ;;
    cuda)
      options+=(-DKokkosKernels_ENABLE_TPL_CUBLAS=ON -DKokkosKernels_ENABLE_TPL_CUSPARSE=OFF
        -DKokkosKernels_ENABLE_TPL_CUSOLVER=OFF -DCMAKE_CUDA_ARCHITECTURES="$KADAM_CUDA_ARCHITECTURE"
        -DCMAKE_CUDA_FLAGS="$(cuda_flags)")
      ;;
  esac
  install_once kokkos-kernels "$version" "$source" "${options[@]}"
  kokkos_kernels_dir=$installed/lib/cmake/KokkosKernels
}

# ensure_kokkos: the one door.
ensure_kokkos() {
  mkdir -p "$KADAM_CACHE/sources" "$KADAM_CACHE/installed"
  rm -rf "$KADAM_CACHE"/temporary.* # of a setup that was stopped: we hold the lock
  if [[ $fresh == true ]]; then rm -rf "$KADAM_CACHE"/sources/*; fi
  kokkos_dir='' kokkos_kernels_dir=''
  # One that is there has its own architecture.
  if [[ -z $kokkos_source && -z $architecture ]]; then
    probe_installed
  fi
  if [[ -n $kokkos_dir ]]; then
    say "Using the Kokkos that CMake found: $kokkos_dir."
  else
    build_kokkos
  fi
  if [[ $kokkos_kernels == true ]] && [[ -z $kokkos_kernels_dir || -n $kokkos_kernels_source ]]; then
    build_kokkos_kernels
  fi
}
