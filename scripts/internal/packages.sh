# shellcheck shell=bash
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Debian packages: only what is missing is installed. Sourced, never run.

# A package is dispensable when what it would bring is there from elsewhere (modules, Spack, a source build).
found_elsewhere() {
  case $1 in
    command:*) command -v "${1#*:}" >/dev/null ;;
    header:*) echo "#include <${1#*:}>" | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1 ;;
    library:*) echo 'int main() {}' | "${CXX:-c++}" -x c++ - -l"${1#*:}" -o /dev/null 2>/dev/null ;;
    python:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    python-header:*) [[ -e $(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/${1#*:} ]] ;;
    file:*) [[ -e ${1#*:} ]] ;;
  esac
}

# missing_packages TABLE...: the names of the packages that are neither installed nor dispensable.
missing_packages() {
  local name probe status
  while read -r name probe; do
    [[ -n $name ]] || continue
    status=$(dpkg-query -W -f '${Status}' "$name" 2>/dev/null || true)
    if [[ $status != "install ok installed" ]] && ! found_elsewhere "$probe"; then
      echo "$name"
    fi
  done <<<"$*"
}

# ensure_packages TABLE...
ensure_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    stop "These are missing (Debian's names), install them and call again: ${missing[*]}"
  fi
  if ((EUID != 0)); then
    stop "These Debian packages are missing and only root can install them: ${missing[*]}"
  fi
  say "Installing ${missing[*]}."
  local apt=(apt-get -y -o DPkg::Lock::Timeout=300)
  run_logged "$KADAM_CACHE/logs/apt-update.log" "apt-get update" "${apt[@]}" update
  run_logged "$KADAM_CACHE/logs/apt-install.log" "apt-get install ${missing[*]}" \
    env DEBIAN_FRONTEND=noninteractive "${apt[@]}" install --no-install-recommends "${missing[@]}"
}
