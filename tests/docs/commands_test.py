# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options and keys on pages are those of the programs and scripts, and all of two programs are on their page:
commands_test.py ROOT FOLDER-OF-PROGRAMS"""
import functools
import pathlib
import re
import subprocess
import sys

from pages import blocks, end, pages, prose, root_of

root, programs = root_of(sys.argv[1]), pathlib.Path(sys.argv[2])
COMMAND = re.compile(r"(?:^|[\s\"'/(`])(kadam-[a-z]+|scripts/[a-z_]+\.sh)(?=[\s`]|$)")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
# Options that stand in a command line of ours and belong to somebody else's program.
FOREIGN = {"--bind-to", "--map-by", "--mpi", "--cpu-bind", "--cpus-per-task"}


@functools.cache
def help_of(command):
    """None for what does not exist. Scripts are not started: they hold the text of their --help."""
    if command == "any":
        scripts = [f"scripts/{script.name}" for script in (root / "scripts").glob("*.sh")]
        return "".join(help_of(one) or "" for one in [*scripts, *(program.name for program in programs.glob("kadam-*"))])
    if command.startswith("scripts/"):
        script = root / command
        parts = [script, script.with_suffix("") / "main.py"]
        return "".join(part.read_text() for part in parts if part.exists()) or None
    if not (programs / command).exists():
        return None
    commands = [[], ["kernels"], ["exchange"], ["steps"], ["growth"]] if command == "kadam-bench" else [[]]
    return "".join(subprocess.run([programs / command, *words, "--help"], capture_output=True, text=True, timeout=50,
                                  check=True).stdout for words in commands)


def command_lines(page):
    """Each command with what follows it, up to the next one: from blocks, and from code within sentences."""
    shown = [code for language, code in blocks(page) if language in ("sh", "")]
    shown += re.findall(r"`([^`\n]+)`", prose(page))
    for text in shown:
        for line in text.replace("\\\n", " ").splitlines():
            line = line.split(" #")[0]
            found = list(COMMAND.finditer(line))
            if not found and line.startswith("--"):
                yield "kadam-train" if line.startswith("--set ") else "any", line
            for k, command in enumerate(found):
                stop = found[k + 1].start() if k + 1 < len(found) else len(line)
                yield command[1], line[command.end() : stop].split(" -- ")[0]


def sections(page):
    """Each program that has a heading of its own, with what is said below it."""
    for part in re.split(r"^## ", prose(page), flags=re.M)[1:]:
        heading, _, text = part.partition("\n")
        if re.fullmatch(r"kadam-[a-z]+", heading):
            yield heading, " ".join(re.findall(r"`([^`\n]+)`", text))


def keys_in(arguments):
    """Of kadam-plan --set NAME.KEY=VALUE and kadam-replay --set KEY=VALUE; else a key of the configuration, whole."""
    return re.findall(r"--set ['\"]?([a-z0-9_.]+)=", arguments)


def knows_option(command, option):
    return option in FOREIGN or re.search(rf"{option}(?![\w-])", help_of(command)) is not None


def knows_key(command, key):
    section = key.split(".")[0]
    if key == "optimizer.groups":
        return True
    if command in ("kadam-plan", "kadam-replay") or section == "optimizer":
        return re.search(rf"^  (optimizer\.)?{key.split('.')[-1]}\s", help_of("kadam-train"), re.M) is not None
    return re.search(rf"^  {re.escape(key)}\s", help_of(command), re.M) is not None


mistakes, checked = [], 0
for page in pages(root):
    if page.name == "CHANGELOG.md":
        continue  # options that were
    name = page.relative_to(root)
    for command, arguments in [*command_lines(page), *sections(page)]:
        if command == "any" and "slurm" in name.parts:
            continue  # it explains Slurm's own
        checked += 1
        if help_of(command) is None:
            mistakes.append(f"{name} has the command {command}, which does not exist")
            continue
        mistakes += [f"{name}: {command} has no option {option}" for option in OPTION.findall(arguments)
                     if not knows_option(command, option)]
        mistakes += [f"{name}: {command} has no key {key}" for key in keys_in(arguments) if not knows_key(command, key)]

page = root / "docs" / "programs.md"
of_all = prose(page).split("\n## ")[0]
for command, text in sections(page):
    if command not in ("kadam-train", "kadam-report"):
        continue
    for option in re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_of(command), re.M):
        checked += 1
        if option not in OPTION.findall(of_all + text):
            mistakes.append(f"docs/programs.md: {command} has {option}, which is not there")
end(mistakes, checked)
