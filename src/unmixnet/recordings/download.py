"""One file from the web: resumed where it stopped, checked by size and digest, moved into place whole."""

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from unmixnet.files.replacement import move_into_place
from unmixnet.recordings.location import DataError

__all__ = ["FetchError", "RemoteFile", "download", "is_complete", "open_url"]

_CHUNK = 1 << 18
_ATTEMPTS = 3
_TIMEOUT_S = 30.0
_LFS = b"version https://git-lfs"


class FetchError(DataError):
    """A download that failed; what arrived so far is kept for the next try."""


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch.

    Arguments:
        url: where it is.
        path: where it goes, relative to the data folder, with "/" between folders.
        size: bytes, or None if not known beforehand.
        sha256: digest in hexadecimal, or None.
        git_sha1: Git's blob digest, which some homes give in place of a SHA-256.
    """

    url: str
    path: str
    size: int | None = None
    sha256: str | None = None
    git_sha1: str | None = None


def is_complete(file: RemoteFile, target: Path) -> bool:
    """True if the file is there with the size and digest that are known."""
    if not target.is_file() or (file.size is not None and target.stat().st_size != file.size):
        return False
    return (file.size is not None or file.sha256 is not None) and _mismatch(file, target) is None


def download(
    file: RemoteFile, target: Path, *, progress: Callable[[int], None] = lambda _: None, pause_s: float = 1.0
) -> None:
    """Fetch a file, or raise a `FetchError`; a part that was fetched before is continued.

    Arguments:
        file: what to fetch.
        target: where to put it; beside it lies `….part` until it is complete and checked.
        progress: called with the number of bytes that arrived.
        pause_s: wait before the second try; doubled before the third.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    counted = 0

    def count(size: int) -> None:
        """Report growth only: a second try must not count the same bytes again."""
        nonlocal counted
        progress(max(size - counted, 0))
        counted = max(size, counted)

    for attempt in range(_ATTEMPTS):
        try:
            _transfer(file, part, count)
            break
        except (OSError, HTTPException) as error:
            if attempt == _ATTEMPTS - 1 or not _worth_repeating(error):
                raise _failed(file, error, part) from None
            time.sleep(pause_s * 2**attempt)
    problem = _mismatch(file, part)
    if problem:
        part.unlink()
        raise FetchError(problem, where=file.url, remedy="Run the same command again; the file was discarded")
    try:
        move_into_place(part, target)
    except OSError as error:
        raise _failed(file, error, part) from None


def open_url(url: str, offset: int = 0):
    """Open a URL, from an offset on if the server can."""
    if not url.startswith(("http://", "https://")):
        raise FetchError("not a web address", where=url, remedy="Begin it with https://")
    request = urllib.request.Request(url, headers={"User-Agent": "unmixnet"})
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    return urllib.request.urlopen(request, timeout=_TIMEOUT_S)


def _transfer(file: RemoteFile, part: Path, count: Callable[[int], None]) -> None:
    """Append what is missing to the part, or begin again if the server does not continue.

    `count` is called with the size of the part as it grows.
    """
    have = part.stat().st_size if part.exists() else 0
    if file.size is not None and have >= file.size:
        if have == file.size:
            count(have)
            return
        have = 0
    try:
        response = open_url(file.url, have)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        response, have = open_url(file.url), 0
    with response:
        continues = response.status == 206
        length = response.headers.get("Content-Length")
        have = have if continues else 0
        count(have)
        received = 0
        with part.open("ab" if continues else "wb") as out:
            while chunk := response.read(_CHUNK):
                out.write(chunk)
                received += len(chunk)
                count(have + received)
    if length is not None and received < int(length):
        raise ConnectionError(f"the connection closed after {received:,} of {int(length):,} bytes")


def _mismatch(file: RemoteFile, path: Path) -> str | None:
    """What is wrong with a file that has arrived, or None."""
    size = path.stat().st_size
    with path.open("rb") as data:
        pointer = data.read(len(_LFS)) == _LFS
    if pointer and size < 1024:
        return "the server sent a Git LFS pointer in place of the file; take a mirror that resolves LFS"
    if file.size is not None and size != file.size:
        return f"{size:,} bytes arrived, expected {file.size:,}"
    if file.sha256 is not None and _digest(path, hashlib.sha256()) != file.sha256.lower():
        return "the SHA-256 of what arrived is not the one that is published"
    git = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    if file.sha256 is None and file.git_sha1 is not None and _digest(path, git) != file.git_sha1.lower():
        return "the Git digest of what arrived is not the one that is published"
    return None


def _digest(path: Path, digest) -> str:
    with path.open("rb") as data:
        while chunk := data.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _worth_repeating(error: Exception) -> bool:
    """A refusal by the server stays a refusal; a broken line or a server in trouble may recover."""
    return not isinstance(error, urllib.error.HTTPError) or error.code >= 500 or error.code == 429


def _failed(file: RemoteFile, error: Exception, part: Path) -> FetchError:
    have = part.stat().st_size if part.exists() else 0
    if isinstance(error, urllib.error.HTTPError):
        reason = f"the server answered {error.code} {error.reason}"
    else:
        reason = f"the transfer failed ({getattr(error, 'reason', None) or error})"
    kept = f"; {have:,} bytes are kept" if have else ""
    remedy = "Run the same command again: it continues where it stopped"
    return FetchError(reason + kept, where=file.url, remedy=remedy)
