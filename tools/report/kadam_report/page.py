# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page: one HTML file with everything in it."""
import pathlib

import jinja2
from markupsafe import Markup, escape

from kadam_report.facts import commands_of, facts_of, repetitions_of
from kadam_report.figure import WIDTH
from kadam_report.health import health_figures_of, warnings_of
from kadam_report.main_figures import main_figures_of
from kadam_report.palette import styles_of
from kadam_report.results import NOTE, background_notes_of, result_table_of
from kadam_report.run import Refusal

FOLDER = pathlib.Path(__file__).parent


def title_of(runs):
    return ("Kadam run: " if len(runs) == 1 else "Kadam comparison: ") + ", ".join(run.label for run in runs)


def remarks_of(runs):
    """The remarks on runs, each once, with the labels of its runs."""
    labels = {}
    for run in runs:
        for remark in run.remarks:
            labels.setdefault(remark, []).append(run.label)
    return [f"{', '.join(those)}: {remark}" for remark, those in labels.items()]


def configurations_of(runs):
    """[(heading, text)] of the configurations. The part before [optimizer] comes once if it is the same for all
    runs."""
    shared = {run.configuration.partition("\n[optimizer]")[0] for run in runs}
    common = shared.pop() if len(shared) == 1 else ""
    texts = [("Data, model and training", common)] + [(run.label, run.configuration[len(common) :]) for run in runs]
    return [(heading, text) for heading, text in texts if text]


def breakable(text):
    """A text as HTML in which long names may break after an underscore."""
    return escape(text.replace("\0", " ")).replace("_", Markup("_<wbr>"))


def shown(value):
    """A value without the character that HTML cannot have."""
    return value.replace("\0", " ") if isinstance(value, str) and not isinstance(value, Markup) else value


def page_of(runs, title):
    """The page as text; the same runs give the same text."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, keep_trailing_newline=True, finalize=shown,
                                     undefined=jinja2.StrictUndefined)
    environment.filters["breakable"] = breakable
    styles = styles_of(runs)
    return environment.get_template("page.html").render(
        title=title or title_of(runs), style=Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
        facts=facts_of(runs), remarks=remarks_of(runs), results=result_table_of(runs), result_note=NOTE,
        background_notes=background_notes_of(runs), figures=main_figures_of(runs, styles), warnings=warnings_of(runs),
        health_figures=health_figures_of(runs, styles), repetitions=repetitions_of(runs), commands=commands_of(runs),
        configurations=configurations_of(runs), width=WIDTH)


def write_page(runs, file, title=""):
    """Writes the page of these runs. title: empty: made of the optimizers' names."""
    page = page_of(runs, title).encode("utf-8", errors="replace")
    try:
        file.write_bytes(page)
    except OSError as error:
        raise Refusal(f"{file}: cannot be written") from error
