#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/release.sh [options] [-- CMAKE_ARGUMENT...]

Makes the files of a release from the newest commit, and tries each of them:
  kadam-VERSION.tar.gz, .sha256      the sources, without git; Kadam is built from them in an empty folder
  kadam_VERSION-1_ARCHITECTURE.deb   library, programs and their Kokkos, for any processor of this kind; kadam-doctor
                                     runs from it, and a project in C, C++ and Fortran is built with it
  spack/spack_repo/kadam             the recipe for Spack that fetches the sources above
Takes about 10 minutes on two cores.

  --out FOLDER    put them there (default: release); what is there already is replaced
  --sources       only the sources and the recipe, which takes seconds
  --url URL       where the sources are going to be (default: the file in --out)
  --help          this text

Arguments after -- go to CMake: -DCMAKE_CXX_FLAGS=-march=x86-64-v3 makes a package for processors with AVX2.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/packages.sh
source "$here/internal/packages.sh"

out=$KADAM_ROOT/release
sources_only=false
url=''
arguments=()
while (($#)); do
  case $1 in
    --out | --url)
      (($# > 1)) || stop "$1 needs a value; see scripts/release.sh --help."
      ;;&
    --out) out=$(realpath -m "$2") && shift 2 ;;
    --url) url=$2 && shift 2 ;;
    --sources) sources_only=true && shift ;;
    --help | -h) usage && exit ;;
    --) shift && arguments=("$@") && break ;;
    *) stop "Unknown option $1; see scripts/release.sh --help." ;;
  esac
done

cd "$KADAM_ROOT"
version=$(sed -n 's/^project(Kadam VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[[ $(git rev-parse --show-toplevel 2>/dev/null) == "$KADAM_ROOT" ]] ||
  stop "$KADAM_ROOT is no checkout of git: a release is made from a commit."
[[ -z $(git status --porcelain --untracked-files=no) ]] ||
  stop "There are changes that are not committed: a release is made from a commit. Commit or undo them first."

name=kadam-$version
archive=$out/$name.tar.gz
url=${url:-file://$archive}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$out"

# The same commit gives the same file.
make_archive() {
  git archive --format=tar --prefix="$name/" HEAD | gzip -n -9 >"$archive"
  (cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
  tar -xf "$archive" -C "$place"
}

# The recipe of the checkout clones it; this one fetches the archive.
make_recipe() {
  local package=spack/spack_repo/kadam/packages/kadam/package.py sum
  sum=$(cut -d ' ' -f 1 "$archive.sha256")
  rm -rf "$out/spack"
  mkdir -p "$out/spack"
  cp -r "$place/$name/spack/spack_repo" "$out/spack/spack_repo"
  python3 "$here/release/recipe.py" "$out/$package" "$version" "$sum" "$url"
  PYTHONPATH=$place/$name/tests/support python3 "$place/$name/tests/spack/recipe_test.py" "$place/$name" "$out"
}

make_package() {
  local build=$place/build
  "$place/$name/scripts/setup.sh" --preset install --build "$build" -- -DKADAM_ENABLE_KOKKOS_INSTALL=ON \
    -DPython3_EXECUTABLE=/usr/bin/python3 "${arguments[@]}"
  rm -f "$out"/kadam_*.deb
  run_logged "$build/package.log" "cpack" cpack -G DEB --config "$build/CPackConfig.cmake" -B "$out"
  rm -rf "$out/_CPack_Packages"
  package=$(compgen -G "$out/kadam_${version}*.deb")
}

# Nothing of where it was built is left in it, and what it holds works.
try_package() {
  local root=$place/root
  dpkg-deb --extract "$package" "$root"
  # gfortran keeps the paths of its sources in a library, for its error messages.
  if grep -rIlF -e "$place" "$root" || grep -rlF -e "$HOME/" "$root"; then
    stop "The files above name folders of the machine that built them."
  fi
  "$root/usr/bin/kadam-doctor" >/dev/null || stop "kadam-doctor of $package finds that something is wrong."
  run_logged "$place/foreign.log" "A project with the package" cmake -S "$place/$name/tests/install" -B "$place/foreign" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DWITH_FORTRAN=ON -DCMAKE_PREFIX_PATH="$root/usr"
  run_logged "$place/foreign.log" "A project with the package" cmake --build "$place/foreign"
  run_logged "$place/foreign.log" "A project with the package" ctest --test-dir "$place/foreign" --output-on-failure --no-tests=error
}

make_archive
say "Made $archive."
make_recipe
say "Made $out/spack/spack_repo/kadam, which fetches $url."
if [[ $sources_only == true ]]; then exit; fi
ensure_packages "$KADAM_PACKAGES_RELEASE"
make_package
try_package
say "Made $package: $(dpkg-deb --field "$package" Installed-Size) KiB installed; it needs $(dpkg-deb --field "$package" Depends)."
