"""The report folder: a page that needs nothing but itself, and the numbers behind it for download."""

import json
import os
from pathlib import Path

from unmixnet.inference.answer import Answer, AnswerError
from unmixnet.inference.report.json import to_json
from unmixnet.inference.report.page import render_page
from unmixnet.inference.report.tables import states_csv, traces_csv

__all__ = ["write_report"]


def write_report(answer: Answer, folder: str | Path) -> Path:
    """Write `answer.json`, `traces.csv`, `states.csv`, then `index.html`; returns the page.

    Each file appears whole or not at all, and the page last: where it is, the numbers are.
    """
    folder = Path(folder)
    files = {
        "answer.json": json.dumps(to_json(answer), indent=1, allow_nan=False) + "\n",
        "traces.csv": traces_csv(answer),
        "states.csv": states_csv(answer),
        "index.html": render_page(answer),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            _write_whole(folder / name, text)
    except OSError as error:
        raise AnswerError(
            f"the report cannot be written ({error.strerror or error})",
            where=str(folder),
            remedy="Give --report a folder that you may write to",
        ) from None
    return folder / "index.html"


def _write_whole(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode("utf-8"))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
