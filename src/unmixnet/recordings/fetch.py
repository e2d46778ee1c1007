"""Data sets from their public homes: SmellNet from Hugging Face, UCI 322 from the UCI archive."""

import json
import re
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from unmixnet.recordings.download import FetchError, RemoteFile, download, is_complete, open_url

__all__ = ["HOMES", "FetchReport", "Home", "Progress", "fetch"]

Progress = Callable[[int, int | None], None]
"""Called with the bytes that arrived since the last call, and the bytes expected in all if known."""

_HUB = "https://huggingface.co"
_UCI = "https://archive.ics.uci.edu"
_REPOSITORY = "DeweiFeng/SmellNet"
_UCI_ARCHIVE = "/static/public/322/gas+sensor+array+under+dynamic+gas+mixtures.zip"
_UCI_MEMBERS = ("ethylene_CO.txt", "ethylene_methane.txt")
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')
_AT_ONCE = 8


@dataclass(frozen=True)
class Home:
    """Where a data set lives: server, the folder of the repository that it fills, its folder here."""

    server: str
    prefix: str
    folder: str
    licence: str


HOMES = {
    "smellnet-base": Home(_HUB, "base_data/", "smellnet", "MIT"),
    "smellnet-mixture": Home(_HUB, "mixture_data/", "smellnet", "MIT"),
    "uci-dynamic": Home(_UCI, "", "uci322", "research use; cite Fonollosa et al. 2015"),
}
"""Data sets that can be fetched."""


@dataclass(frozen=True)
class FetchReport:
    """What a fetch did."""

    name: str
    folder: str
    fetched: int
    already_there: int
    total_bytes: int


def fetch(name: str, to: Path, *, mirror: str | None = None, progress: Progress = lambda *_: None) -> FetchReport:
    """Fetch a data set into a data folder; what is already there and sound is not fetched again.

    Arguments:
        name: one of `HOMES`.
        to: the data folder.
        mirror: a server that offers the same paths as the public one.
        progress: see `Progress`.
    """
    home = HOMES.get(name)
    if home is None:
        raise FetchError(f"no public home for {name!r}", remedy=f"Choose one of {', '.join(HOMES)}")
    server = (mirror or home.server).rstrip("/")
    if home.server == _UCI:
        return _fetch_archive(name, home, server, to, progress)
    return _fetch_repository(name, home, server, to, progress)


def _fetch_repository(name: str, home: Home, server: str, to: Path, progress: Progress) -> FetchReport:
    folder = to / home.folder
    files = _listing(server, home.prefix)
    missing = [file for file in files if not is_complete(file, folder / file.path)]
    expected = sum(file.size or 0 for file in missing)
    progress(0, expected)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        arrived = partial(_arrived, progress, expected)
        running = [pool.submit(download, file, folder / file.path, progress=arrived) for file in missing]
        try:
            for done in as_completed(running):
                done.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    total = sum((folder / file.path).stat().st_size for file in files)
    return FetchReport(name, str(folder), len(missing), len(files) - len(missing), total)


def _arrived(progress: Progress, expected: int, count: int) -> None:
    progress(count, expected)


def _listing(server: str, prefix: str) -> list[RemoteFile]:
    """Files of the repository under a folder, from the hub's listing, page after page."""
    url: str | None = f"{server}/api/datasets/{_REPOSITORY}/tree/main?recursive=true"
    files: list[RemoteFile] = []
    while url:
        try:
            with open_url(url) as response:
                entries = json.load(response)
                link = _NEXT.search(response.headers.get("Link") or "")
            files += [_remote(server, entry) for entry in entries if _wanted(entry, prefix)]
        except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = "Check the connection and run the same command again"
            raise FetchError(f"the list of files could not be read ({error})", where=url, remedy=remedy) from None
        url = link[1] if link else None
    if not files:
        raise FetchError(
            f"the repository lists no file under {prefix}",
            where=f"{server}/datasets/{_REPOSITORY}",
            remedy="Look whether the data set has moved, and name a mirror with --mirror",
        )
    return files


def _wanted(entry: dict, prefix: str) -> bool:
    path = entry["path"]
    safe = ".." not in PurePosixPath(path).parts and not path.startswith("/") and "\\" not in path
    return entry["type"] == "file" and path.startswith(prefix) and safe


def _remote(server: str, entry: dict) -> RemoteFile:
    lfs = entry.get("lfs") or {}
    return RemoteFile(
        url=f"{server}/datasets/{_REPOSITORY}/resolve/main/{quote(entry['path'])}",
        path=entry["path"],
        size=lfs.get("size", entry.get("size")),
        sha256=lfs.get("oid"),
        git_sha1=None if lfs else entry.get("oid"),
    )


def _fetch_archive(name: str, home: Home, server: str, to: Path, progress: Progress) -> FetchReport:
    """Fetch the UCI archive and unpack its two files; every byte is checked by the archive's CRC-32."""
    folder = to / home.folder
    targets = [folder / member for member in _UCI_MEMBERS]
    if all(target.is_file() for target in targets):
        return FetchReport(name, str(folder), 0, 2, sum(target.stat().st_size for target in targets))
    archive = folder / "uci322.zip"
    file = RemoteFile(server + _UCI_ARCHIVE, archive.name, _announced_size(server + _UCI_ARCHIVE))
    if not is_complete(file, archive):
        download(file, archive, progress=lambda count: progress(count, file.size))
    try:
        with zipfile.ZipFile(archive) as zipped:
            for target in targets:
                _unpack(zipped, target)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, KeyError, EOFError) as error:
        archive.unlink()
        remedy = "Run the same command again; the damaged archive was discarded"
        raise FetchError(f"the archive cannot be unpacked ({error})", where=file.url, remedy=remedy) from None
    archive.unlink()
    return FetchReport(name, str(folder), 2, 0, sum(target.stat().st_size for target in targets))


def _announced_size(url: str) -> int | None:
    """Bytes that the server announces, or None."""
    try:
        with open_url(url) as response:
            length = response.headers.get("Content-Length")
    except (OSError, HTTPException) as error:
        remedy = "Check the connection and run the same command again"
        raise FetchError(f"the server cannot be reached ({error})", where=url, remedy=remedy) from None
    return int(length) if length and length.isdigit() else None


def _unpack(zipped: zipfile.ZipFile, target: Path) -> None:
    """Unpack one member by its file name, in whatever folder of the archive it lies."""
    member = next((m for m in zipped.namelist() if PurePosixPath(m).name == target.name), None)
    if member is None:
        raise KeyError(f"no {target.name} in it")
    part = target.with_name(target.name + ".part")
    with zipped.open(member) as source, part.open("wb") as out:
        while chunk := source.read(1 << 20):
            out.write(chunk)
    part.replace(target)
