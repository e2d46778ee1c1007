"""Weights and documents on disk: verified before they are read, replaced without a moment of loss, no pickle.

    artefact = Artefact("bundle", {"W_h": weights}, {"config.json": {"width": 64}, "card.md": "# Card"})
    digest = write_artefact(Path("model"), artefact)
    again = read_artefact(Path("model"), kind="bundle")

A folder holds `manifest.json` (name, size and SHA-256 of every file), `weights.safetensors` and the documents.
The digests show accident and tampering in transit; they are not a signature, so compare the digest of the whole
with one that came by a trusted way if its origin matters.

Private: nothing here is part of the public interface.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmixnet.files.artefact import read_artefact, recover, write_artefact
    from unmixnet.files.artefact_format import Artefact
    from unmixnet.files.canonical_json import ArtefactError
    from unmixnet.files.tensors import fingerprint

__all__ = ["Artefact", "ArtefactError", "fingerprint", "read_artefact", "recover", "write_artefact"]

_MODULES = {
    "Artefact": "artefact_format",
    "ArtefactError": "canonical_json",
    "fingerprint": "tensors",
    "read_artefact": "artefact",
    "recover": "artefact",
    "write_artefact": "artefact",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: the command line needs this package, but not NumPy, to print its help."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
