# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What was run, when and on what, and how to run it again."""
import re
import shlex

from kadam_report.run import count_of, member
from kadam_report.texts import plural


def text(start, name):
    return member(start, name, str)


def of_last_start(text_of):
    """Function that applies text_of to the last start of a run; empty without a start."""
    return lambda run: text_of(run.starts[-1]) if run.starts else ""


def counted(run, name):
    return f"{int(run.facts[name]):,}" if abs(run.facts.get(name, 1e16)) <= 1e15 else ""


def model_text(run):
    parameters = counted(run, "parameters")
    return run.model + (f" of {parameters} parameters" if parameters else "")


def training_text(run):
    steps, examples = counted(run, "steps"), counted(run, "examples_per_step")
    return f"{steps} steps of {examples} examples" if steps and examples else ""


def ranks_text(start):
    if count_of(start, "ranks") == 0:
        return ""
    threads = plural(count_of(start, "threads"), "thread")
    return f"{text(start, 'exchange')}; {threads} of {text(start, 'execution_space')} each"


def machine_text(start):
    return ", ".join(filter(None, (text(start, "host"), text(start, "processor"))))


def software_text(start):
    return text(start, "build").replace("\n", "; ")


def time_text(start):
    """"2026-11-22T23:40:01Z" -> "2026-11-22 23:40 UTC"; what is no such time, as it is."""
    time = text(start, "time")
    return re.sub(r"^(.{10})T(.{5}).{4}$", r"\1 \2 UTC", time, flags=re.S)


def distinct(runs, text_of):
    """The texts of all runs, each once, in the order of the first run that has it."""
    return list(dict.fromkeys(filter(None, map(text_of, runs))))


def said_of(runs, text_of):
    """One text if it is the same for all runs, else one for each text with the labels of its runs."""
    every = distinct(runs, text_of)
    if len(every) <= 1:
        return every
    return [f"{', '.join(run.label for run in runs if text_of(run) == one)}: {one}" for one in every]


def times_of(runs):
    started = [run.starts[0] for run in runs if run.starts and text(run.starts[0], "time")]
    if not started:
        return []
    started.sort(key=lambda start: text(start, "time"))
    first, last = time_text(started[0]), time_text(started[-1])
    said = [f"started {first}" if first == last else f"first run started {first}, last one {last}"]
    return said + [f"{run.label}: went on after step {count_of(start, 'after_step')} at {time_text(start)}"
                   for run in runs for start in run.starts[1:]]


def facts_of(runs):
    """{term: texts} of the facts about these runs."""
    facts = {"Model": said_of(runs, model_text), "Data": said_of(runs, lambda run: run.data),
             "Training": said_of(runs, training_text), "When": times_of(runs),
             "Ranks": said_of(runs, of_last_start(ranks_text)), "Machine": said_of(runs, of_last_start(machine_text)),
             "Software": said_of(runs, of_last_start(software_text))}
    return {term: said for term, said in facts.items() if said}


def shell_lines(start, name):
    """Shell lines that run the command `name` of a start in its folder and environment; empty without this command."""
    words = [word for word in member(start, name, list) if isinstance(word, str)]
    if not words:
        return ""
    lines = [f"cd {shlex.quote(text(start, 'folder'))}"] if text(start, "folder") else []
    lines += [f"export {variable}={shlex.quote(value)}"
              for variable, value in sorted(member(start, "environment", dict).items()) if isinstance(value, str)]
    ranks = count_of(start, "ranks")
    return "\n".join([*lines, (f"mpirun -n {ranks} " if ranks > 1 else "") + shlex.join(words)])


def repetitions_of(runs):
    """Shell lines that repeat the runs; empty if not known."""
    return distinct(runs, of_last_start(lambda start: shell_lines(start, "repetition")))


def commands_of(runs):
    """The command lines that the runs were started with."""
    return distinct(runs, of_last_start(lambda start: shell_lines(start, "command")))
