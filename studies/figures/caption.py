"""What is written under a figure: what it shows, on how many recordings, and what would change the claim."""

from dataclasses import asdict, dataclass

__all__ = ["Caption"]


@dataclass(frozen=True)
class Caption:
    """The words of a figure.

    Arguments:
        title: one line.
        shows: what is measured, and on how many recordings.
        change: what would change the claim.
    """

    title: str
    shows: str
    change: str

    def to_json(self) -> dict[str, str]:
        """Plain values."""
        return asdict(self)
