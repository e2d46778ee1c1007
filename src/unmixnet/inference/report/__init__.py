"""The answer of `unmixnet unmix`: as data, as words, as JSON, and as a page for somebody who does not program.

`print_answer(answer)` prints it, `to_json(answer)` is one object, `write_report(answer, folder)` writes the page.
"""

from unmixnet.inference.answer import Answer, AnswerError, ClosureReport, States, Verdict
from unmixnet.inference.report.files import to_json, write_report
from unmixnet.inference.report.terminal import print_answer, rows, sentences
from unmixnet.inference.report.words import headline

__all__ = [
    "Answer",
    "AnswerError",
    "ClosureReport",
    "States",
    "Verdict",
    "headline",
    "print_answer",
    "rows",
    "sentences",
    "to_json",
    "write_report",
]
