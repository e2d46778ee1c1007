"""Bundles by name or by place."""

from importlib.resources import files
from pathlib import Path

from unmixnet.errors import ConfigError
from unmixnet.files.content import MANIFEST

__all__ = ["find_bundle", "packaged"]


def packaged() -> dict[str, Path]:
    """Bundles that ship with the package, by name."""
    home = Path(str(files("unmixnet") / "bundles"))
    found = sorted(path for path in home.iterdir() if (path / MANIFEST).is_file()) if home.is_dir() else []
    return {path.name: path for path in found}


def find_bundle(name_or_path: str | Path) -> Path:
    """The folder of a bundle: a packaged name, the folder itself, or the folder of the training that made it."""
    text = str(name_or_path)
    known, place = packaged(), Path(name_or_path)
    if text in known:  # first, so that a folder of that name in the working folder does not take its place unnoticed
        return known[text]
    for folder in (place, place / "bundle"):
        if (folder / MANIFEST).is_file():
            return folder
    shipped = f"packaged are {', '.join(known)}" if known else "none are packaged"
    raise ConfigError(
        f"no bundle {text!r}: {shipped}, and there is no such folder with a {MANIFEST}",
        remedy="Name a packaged bundle, or the folder that `unmixnet train` wrote",
    )
