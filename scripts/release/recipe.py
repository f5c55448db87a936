# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the recipe for Spack of a release from that of a checkout: recipe.py PACKAGE_PY VERSION SHA256 URL

The recipe of a checkout clones it; that of a release fetches the archive of its sources.
"""
import re
import sys


def of_release(text: str, version: str, digest: str, url: str) -> str:
    """The recipe with one version, which is an archive. Errors: ValueError if the text has other lines than these."""
    line = f'    version("{version}", sha256="{digest}", url="{url}")\n'
    text, clones = re.subn(r"    # There is no public repository[^\n]*\n    git = [^\n]*\n\n", "", text)
    text, versions = re.subn(r'    version\("main"[^\n]*\n    #[^\n]*\n    version\("[\d.]+"[^\n]*\n', line, text)
    if clones != 1 or versions != 1:
        raise ValueError("its lines for git and version() are not those that a release replaces")
    return text.replace("import pathlib\n\n", "", 1)


def main(path: str, version: str, digest: str, url: str) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        text = of_release(text, version, digest, url)
    except ValueError as error:
        sys.exit(f"kadam: {path}: {error}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
