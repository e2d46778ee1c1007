"""Weights and documents on disk: verified before they are read, replaced without a moment of loss, no pickle.

    artefact = Artefact("bundle", {"W_h": weights}, {"config.json": {"width": 64}, "card.md": "# Card"})
    digest = write_artefact(Path("model"), artefact)
    again = read_artefact(Path("model"), kind="bundle")

A folder holds `manifest.json` (name, size and SHA-256 of every file), `weights.safetensors` and the documents.
The digests show accident and tampering in transit; they are not a signature, so compare the digest of the whole
with one that came by a trusted way if its origin matters.
"""

from unmixnet.files.content import Artefact
from unmixnet.files.reading import read_artefact
from unmixnet.files.refusal import ArtefactError
from unmixnet.files.weights import fingerprint
from unmixnet.files.writing import recover, write_artefact

__all__ = ["Artefact", "ArtefactError", "fingerprint", "read_artefact", "recover", "write_artefact"]
