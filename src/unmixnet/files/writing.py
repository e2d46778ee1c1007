"""Writing an artefact: complete and on the disk before it gets its name."""

from pathlib import Path

from unmixnet.files.content import MANIFEST, Artefact
from unmixnet.files.manifest import manifest_bytes, manifest_of
from unmixnet.files.pack import pack
from unmixnet.files.reading import read_manifest
from unmixnet.files.refusal import ArtefactError, refused, refusing
from unmixnet.files.replacement import create_parents, fill, is_free, locked, resolved, settle, swap

__all__ = ["recover", "write_artefact"]

_REMEDY = "Check the space on the disk and the permissions of the folder"


def write_artefact(folder: Path, artefact: Artefact) -> str:
    """Write an artefact in place of the one that stands there, if any, and give its digest.

    At every instant either the old or the new one can be read; once this returns, the new one outlives a loss of
    power. Only an artefact or an empty folder is replaced, never somebody's other files.
    """
    path = resolved(folder)
    files = pack(artefact)
    manifest = manifest_of(artefact.kind, files)
    with refusing(path, _REMEDY):
        create_parents(path)
        with locked(path.parent):
            _check_replaceable(path)
            settle(path)
            fill(path, {**files, MANIFEST: manifest_bytes(manifest)})
            swap(path)
    return manifest.digest


def recover(folder: Path) -> None:
    """Finish a replacement that a crash interrupted, and remove what it left; `write_artefact` does so by itself."""
    path = resolved(folder)
    with refusing(path, _REMEDY):
        if path.parent.is_dir():
            with locked(path.parent):
                _check_replaceable(path)
                settle(path)


def _check_replaceable(path: Path) -> None:
    """Refuse to replace what is no artefact; one whose manifest is sound may be replaced whatever its other files."""
    if is_free(path):
        return
    try:
        read_manifest(path)
    except ArtefactError as error:
        problem = f"the folder is not replaced because it is no sound artefact ({error.problem})"
        raise refused(problem, path, "Choose another folder, or move this one away") from None
