#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -euo pipefail

usage() {
  cat <<'TEXT'
scripts/docs.sh [options]

Makes a site of docs/ and of the comments in headers: build/docs/index.html, which needs no network and no server.
Installs missing programs (Doxygen; Sphinx into Kadam's own Python environment). A broken link is an error.
Options:

  --open         opens the site in the browser
  --no-install   installs no Debian packages
  --help         this text
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/internal/common.sh
source "$here/internal/common.sh"
# shellcheck source=scripts/internal/packages.sh
source "$here/internal/packages.sh"
# shellcheck source=scripts/internal/python.sh
source "$here/internal/python.sh"

install=true
open=false
while (($#)); do
  case $1 in
    --open) open=true && shift ;;
    --no-install) install=false && shift ;;
    --help | -h) usage && exit ;;
    *) stop "Unknown option $1; see scripts/docs.sh --help." ;;
  esac
done

site=$KADAM_ROOT/build/docs
work=$KADAM_ROOT/build/docs-work

read_headers() {
  rm -rf "$work/xml"
  { cat docs/site/Doxyfile && echo "OUTPUT_DIRECTORY = \"$work\""; } >"$work/Doxyfile"
  run_logged "$work/doxygen.log" "Reading the headers" doxygen "$work/Doxyfile"
}

# A page that is gone must not stay: what is there already is not built upon.
build_site() {
  rm -rf "$site" "$work/doctrees"
  run_logged "$work/sphinx.log" "Building the site" "$KADAM_VENV/bin/python" -m sphinx --builder html --quiet \
    --fail-on-warning --keep-going --jobs auto --conf-dir docs/site --doctree-dir "$work/doctrees" . "$site"
}

# Pages are read without a network.
require_nothing_from_elsewhere() {
  local loaded
  loaded=$(grep -rnoE --include='*.html' --include='*.css' \
    -e '<(script|img|iframe|source)[^>]* src="(https?:)?//[^"]*"' \
    -e '<link[^>]* href="(https?:)?//[^"]*"' -e 'url\(["'\'']?(https?:)?//[^)]*\)' "$site" | head -n 5 || true)
  [[ -z $loaded ]] || stop "The site loads files from elsewhere: $loaded"
}

build() {
  read_headers
  build_site
  require_nothing_from_elsewhere
}

if [[ $install == true ]]; then ensure_packages "$KADAM_PACKAGES_DOCS"; fi
with_lock "$KADAM_CACHE/lock" ensure_python "${KADAM_PYTHON_DOCS_NEEDS[@]}"
mkdir -p "$work"
cd "$KADAM_ROOT"
with_lock "$work/lock" build
say "Ready: $site/index.html"
if [[ $open == true ]]; then xdg-open "$site/index.html"; fi
