# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a story in the lab around it, and writes its table and its picture. Called by scripts/gallery.sh."""
import argparse
import os
import pathlib
import sys

sys.path += [str(pathlib.Path(__file__).parents[1] / folder) for folder in ("bench_network", "internal")]
import report  # noqa: E402
from cases import Records  # noqa: E402
from optimizers import optimizers  # noqa: E402

import heat  # noqa: E402
import trainings  # noqa: E402
from stories import FORTRAN, STORIES, chosen  # noqa: E402

DOCS = report.DOCUMENT.parent


def parse():
    parser = argparse.ArgumentParser(prog="scripts/gallery.sh", description=__doc__)
    for name in ("--netlab", "--program", "--output", "--data", "--mpirun-args"):
        parser.add_argument(name, default="")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--names", action="store_true", help="only names the stories")
    parser.add_argument("--lab", action="store_true", help="only the options of the lab that the story needs")
    parser.add_argument("stories", nargs="*")
    return parser.parse_args()


def heading(story, records):
    day, commit = report.today_and_commit()
    ranks = story.hosts * story.ranks_per_host
    return (f"{day}, `scripts/gallery.sh {story.name}`, {report.processor()}, {os.cpu_count()} cores shared by {ranks} "
            f"ranks of one thread each, {commit}.{report.disturbance([record['others'] for record in records])}")


def tell(story, arguments, output):
    """The text of a story, and draw(file), which draws its picture."""
    records = Records(output / "cases.jsonl")
    if story == FORTRAN:
        rows = heat.measure(story, arguments, records, output)
        text = f"{heat.output_of(output)}\n\n{heading(story, [row[-1] for row in rows])}\n\n{heat.table(rows)}"
        return text, lambda file: heat.draw(file, output)
    methods = story.methods(optimizers(arguments.program))
    timed, curves = trainings.measure(story, methods, arguments, records, output)
    text = f"{heading(story, timed.values())}\n\n{trainings.table(story, timed)}"
    return text, lambda file: trainings.draw(file, story, timed, curves)


def picture_name(story):
    return "heat.png" if story == FORTRAN else f"gallery_{story.name}.svg"


def main(docs=DOCS):
    arguments = parse()
    stories = chosen(arguments.stories)
    if arguments.names:
        return print(*(story.name for story in stories))
    for story in stories:
        if arguments.lab:
            print(story.lab())
            continue
        output = pathlib.Path(arguments.output).absolute() / story.name
        output.mkdir(parents=True, exist_ok=True)
        text, draw = tell(story, arguments, output)
        (output / f"{story.name}.md").write_text(f"{text}\n", encoding="utf-8")
        draw(output / picture_name(story))
        print(text)
        if arguments.write:
            report.put_between_markers(docs / "gallery.md", f"gallery {story.name}", text)
            draw(docs / "pictures" / picture_name(story))
    return None


if __name__ == "__main__":
    main()
