"""A process that writes artefacts n, n + 1, … to one folder and says so after each: `writer.py FOLDER n [LAST]`."""

import itertools
import sys
from pathlib import Path

from tests.files.bundles import bundle
from unmixnet.files import write_artefact


def main(folder: Path, first: int, last: int | None) -> None:
    for number in itertools.count(first) if last is None else range(first, last + 1):
        write_artefact(folder, bundle(number, floats=30_000))
        print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
