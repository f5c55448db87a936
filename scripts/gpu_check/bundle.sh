# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A folder with all that scripts/gpu_check/run.sh needs: beside a build, or to be carried away. Sourced, never run.
#
# Reads: backend, architecture, folder (of the build)
# shellcheck disable=SC2154

bundle_programs=(kadam-bench kernels_test collectives_test optimizers_test checkpoint_test golden_replay_test)
most_bytes=$((60 << 20))

commit_of_tree() {
  local commit
  commit=$(git -C "$KADAM_ROOT" rev-parse --short HEAD 2>/dev/null) || commit=unknown
  if [[ -n $(git -C "$KADAM_ROOT" status --porcelain --untracked-files=no 2>/dev/null) ]]; then commit+=' with changes'; fi
  echo "commit $commit"
}

# Whether messages may lie in a GPU's memory: Open MPI says so.
mpi_is_aware() {
  ompi_info --parsable --all 2>/dev/null | grep -q 'mpi_built_with_cuda_support:value:true' && echo true || echo false
}

# write_settings FILE: for the shell that reads it. A vector of a host is short: it is for trying.
write_settings() {
  local elements=$((1 << 26))
  if [[ $backend == host ]]; then elements=$((1 << 20)); fi
  {
    echo "# Written by scripts/gpu_check.sh."
    printf "%s='%s'\n" backend "$backend" architecture "$architecture" commit "$(commit_of_tree)" \
      elements "$elements" aware "$(mpi_is_aware)"
  } >"$1"
}

copy_scripts() {
  mkdir -p "$1"
  cp "$KADAM_ROOT/scripts/gpu_check/run.sh" "$1/gpu_check.sh"
  cp "$KADAM_ROOT/scripts/mpi_environment.sh" "$1"
  write_settings "$1/settings"
}

# prepare_run_here FOLDER: programs, libraries and MPI are those of this machine.
prepare_run_here() {
  copy_scripts "$1"
  {
    printf "%s='%s'\n" programs "$folder/bin" golden "$KADAM_ROOT/tests/golden" \
      peers "$KADAM_ROOT/scripts/bench_peers/peers.py"
    if [[ -x $folder/bin/golden_replay_test ]]; then echo "mpirun='$(command -v mpirun)'"; fi
  } >>"$1/settings"
}

# ---- to be carried away -------------------------------------------------------------------------------------------

# Of libc, which a machine may have in an age of its own; and of the driver, which it has to have.
is_of_libc() { [[ $1 =~ ^(ld-linux|libc\.so|libm\.so|libmvec|libdl\.so|libpthread|librt\.so|libresolv|libutil|libnss) ]]; }
is_of_driver() { [[ $1 =~ ^(libcuda|libamdhip64|libhsa-runtime64)\.so ]]; }
# Ten times as large as all else together: CUDA's toolkit and PyTorch have it.
is_of_cublas() { [[ $1 =~ ^libcublas(Lt)?\.so ]]; }

# All of it: the driver needs parts that the programs do not, and they must be of one age.
copy_libc() {
  local file folder
  file=$(ldd "$1" | sed -n 's/.*libc\.so\.6 => \(.*\) (.*/\1/p')
  mkdir -p "$2"
  cp --dereference "$(ldd "$1" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\) .*/\1/p')" "$2"
  folder=$(dirname "$file")
  for file in c.so.6 m.so.6 mvec.so.1 dl.so.2 pthread.so.0 rt.so.1 resolv.so.2 util.so.1 nss_files.so.2; do
    if [[ -e $folder/lib$file ]]; then cp --dereference "$folder/lib$file" "$2"; fi
  done
}

# copy_libraries BUNDLE FILE...: what these need.
copy_libraries() {
  local bundle=$1 file name arrow path rest
  shift
  mkdir -p "$bundle/lib"
  for file in "$@"; do
    while read -r name arrow path rest; do
      if [[ $name == /* ]]; then path=$name name=${name##*/}; fi
      if is_of_libc "$name" || is_of_driver "$name" || is_of_cublas "$name" || [[ $name == linux-vdso* || $name == statically ]]; then
        continue
      fi
      [[ $path == /* ]] || stop "$file needs $name, which this machine lacks: $arrow $path $rest"
      if [[ ! -e $bundle/lib/$name ]]; then strip -o "$bundle/lib/$name" "$path"; fi
    done < <(ldd "$file")
  done
}

# Of Open MPI 4: what ranks on one host take part in, and nothing that would look for a network.
mpi_components=(allocator_basic allocator_bucket bml_r2 btl_self btl_vader coll_basic coll_inter coll_libnbc coll_self coll_sm
  coll_sync coll_tuned errmgr_default_app errmgr_default_hnp ess_env ess_hnp ess_pmi ess_singleton filem_raw
  grpcomm_direct iof_hnp mpool_hugepage odls_default oob_tcp op_avx osc_sm patcher_overwrite plm_isolated pmix_ext3x
  pmix_pmix3x pml_ob1 pstat_linux rcache_grdma reachable_weighted regx_fwd regx_naive regx_reverse rmaps_ppr
  rmaps_round_robin rml_oob routed_binomial routed_direct routed_radix schizo_ompi schizo_orte shmem_mmap shmem_posix
  state_app state_hnp state_novm)

copy_mpi() {
  local bundle=$1 launcher plugins pmix component files=()
  [[ $(mpirun --version 2>/dev/null) =~ Open\ MPI\)\ 4 ]] ||
    stop "A bundle needs Open MPI 4, but the mpirun of this machine is not part of it."
  launcher=$(readlink -f "$(command -v mpirun)")
  plugins=$(ompi_info --path pkglibdir --parsable | sed -n 's/^path:pkglibdir://p')
  # Debian says one folder and has them in another.
  plugins=$(dirname "$(find -L "$plugins" "${plugins%/*}/openmpi" -name mca_pml_ob1.so 2>/dev/null | head -n 1)")
  [[ -e $plugins/mca_pml_ob1.so ]] || stop "Open MPI's components are not where ompi_info says."
  mkdir -p "$bundle/lib/components" "$bundle/share"
  strip -o "$bundle/bin/mpirun" "$launcher"
  files=("$launcher")
  for component in "${mpi_components[@]}"; do
    if [[ -e $plugins/mca_$component.so ]]; then
      strip -o "$bundle/lib/components/mca_$component.so" "$plugins/mca_$component.so"
      files+=("$plugins/mca_$component.so")
    fi
  done
  # PMIx looks for a way to compress what ranks say of themselves, and complains at length.
  pmix=$(ldd "$plugins"/mca_pmix_*3x.so | sed -n 's/.*libpmix\.so[.0-9]* => \(.*\) (.*/\1/p' | head -n 1)
  mkdir -p "$bundle/lib/pmix"
  for component in "$(dirname "$(readlink -f "${pmix:-/}")")"/pmix/*pcompress_zlib.so; do
    if [[ -e $component ]]; then cp "$component" "$bundle/lib/pmix"; fi
  done
  # What it says when something is wrong.
  cp "$(ompi_info --path pkgdatadir --parsable | sed -n 's/^path:pkgdatadir://p')"/help-*.txt "$bundle/share"
  copy_libraries "$bundle" "${files[@]}"
}

fill_bundle() {
  local bundle=$1 program golden
  copy_scripts "$bundle"
  cp "$KADAM_ROOT/scripts/bench_peers/peers.py" "$bundle"
  mkdir -p "$bundle/bin" "$bundle/golden"
  for golden in "$KADAM_ROOT"/tests/golden/*/; do cp -r "${golden%/}" "$bundle/golden"; done
  for program in "${bundle_programs[@]}"; do
    [[ -x $folder/bin/$program ]] || stop "$folder/bin has no $program: build it first (without --no-build)."
    strip -o "$bundle/bin/$program" "$folder/bin/$program"
    copy_libraries "$bundle" "$folder/bin/$program"
  done
  copy_mpi "$bundle"
  copy_libc "$folder/bin/kadam-bench" "$bundle/lib/libc"
  printf "cublas='%s'\n" "$(ldd "$folder/bin/kadam-bench" | sed -n 's/^[[:space:]]*\(libcublas\.so[.0-9]*\) .*/\1/p')" \
    >>"$bundle/settings"
}

# pack_bundle FILE: says how large it is.
pack_bundle() (
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
  fill_bundle "$temporary/kadam-gpu-check"
  compression=(gzip -9)
  if [[ $1 == *.xz ]]; then compression=(xz -9); fi
  tar -C "$temporary" -cf - kadam-gpu-check | "${compression[@]}" >"$temporary/packed"
  size=$(stat -c %s "$temporary/packed")
  printf -v text '%d.%d MiB' $((size >> 20)) $((((size & 0xFFFFF) * 10) >> 20))
  ((size <= most_bytes)) || stop "The bundle would have $text, more than the $((most_bytes >> 20)) MiB allowed."
  mv "$temporary/packed" "$1"
  say "$1: $text, $(du -sh "$temporary/kadam-gpu-check" | cut -f 1) unpacked."
)
