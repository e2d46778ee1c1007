"""The error of a model that cannot be exported."""

from unmixnet.errors import UnmixError

__all__ = ["ExportError"]


class ExportError(UnmixError):
    """A model that could not be exported, or whose export says something else."""
