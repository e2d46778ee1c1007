"""The answer of `unmixnet unmix`: as data, as words, as JSON, and as a page for somebody who does not program.

`show(answer)` prints it, `to_json(answer)` is one object, `write_report(answer, folder)` writes the page.
"""

from unmixnet.inference.answer import Answer, AnswerError, ClosureReport, States, Verdict
from unmixnet.inference.report.folder import write_report
from unmixnet.inference.report.json import to_json
from unmixnet.inference.report.terminal import rows, sentences, show
from unmixnet.inference.report.words import headline

__all__ = [
    "Answer",
    "AnswerError",
    "ClosureReport",
    "States",
    "Verdict",
    "headline",
    "rows",
    "sentences",
    "show",
    "to_json",
    "write_report",
]
