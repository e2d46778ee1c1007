"""Errors that cross the public edge: what was seen, what was expected, where, and one thing to try."""

__all__ = ["ChamberError", "ConfigError", "SolveError", "UnmixError"]


class UnmixError(Exception):
    """Base of every error that unmixnet raises on purpose.

    Arguments:
        problem: what was seen and what was expected, one sentence without a full stop.
        where: file, line, key, cell or sensor that it concerns; may be empty.
        remedy: one thing to try, in the imperative.

    >>> import unmixnet as um
    >>> try:
    ...     um.load_model("smelnet")
    ... except um.UnmixError as error:
    ...     print(error.remedy)
    Name a packaged bundle, or the folder that `unmixnet train` wrote
    """

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        self.problem, self.where, self.remedy = problem, where, remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        sentences = (f"{place}{self.problem}", self.remedy)
        return " ".join(text if text.endswith(("?", ".", "!")) else f"{text}." for text in sentences if text)


class ChamberError(UnmixError):
    """A chamber that cannot exist: disconnected, non-positive, dangling, or violating continuity."""


class ConfigError(UnmixError):
    """A TOML file or argument that is not understood."""


class SolveError(UnmixError):
    """A solve that could not be completed; names the operator and the step."""
