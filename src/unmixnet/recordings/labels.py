"""Recipes spelled in file names: `almond_50_apple_50`, `Orange20_Clove80`, bare `almond`."""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from unmixnet.errors import UnmixError
from unmixnet.recordings.codes import Code
from unmixnet.recordings.recording import Finding, Mixture

__all__ = ["COMPONENTS", "SUBSTANCES", "label_of_file", "parse_label", "parse_recipe", "sum_findings"]

COMPONENTS = (
    "banana",
    "orange",
    "pear",
    "apple",
    "mango",
    "peach",
    "strawberry",
    "clove",
    "coriander",
    "garlic",
    "almond",
    "cumin",
)
"""The twelve substances of SmellNet-Mixture, in the order that the upstream code uses."""

_SUBSTANCE_WORDS = """
    allspice almond angelica apple asparagus avocado banana brazil_nut broccoli brussel_sprouts
    cabbage cashew cauliflower chamomile chervil chestnuts chives cinnamon cloves coriander
    cumin dill garlic ginger hazelnut kiwi lemon mandarin_orange mango mint
    mugwort mustard nutmeg oregano peach peanuts pear pecans pili_nut pineapple
    pistachios potato radish saffron star_anise strawberry sweet_potato tomato turnip walnuts
"""
SUBSTANCES = tuple(_SUBSTANCE_WORDS.split())
"""The fifty substances of SmellNet-Base."""

_PART = re.compile(r"([a-z]+(?:_[a-z]+)*)_?(\d+(?:\.\d+)?)(?:_|$)")


def parse_recipe(text: str, known: Collection[str] | None = None) -> Mixture | None:
    """The mixture that a recipe spells, or None if it spells none of the known substances."""
    lower = text.strip().lower()
    parts = [(lower, 1.0)] if re.fullmatch(r"[a-z]+(?:_[a-z]+)*", lower) else _parts(lower)
    names = [name for name, _ in parts]
    if not names or len(set(names)) != len(names) or sum(share for _, share in parts) <= 0:
        return None
    if known is not None and not set(names) <= set(known):
        return None
    return Mixture.from_parts(names, [share for _, share in parts])


def parse_label(text: str) -> Mixture | None:
    """A label as people write it: a recipe, `2-butanone:50 + acetone:50`, or the name of one substance."""
    if "+" in text or ":" in text:
        pairs = [part.rpartition(":") for part in text.split("+")]
        names = [(name or share).strip() for name, _, share in pairs]
        stated = [bool(name) for name, _, _ in pairs]
        if any(stated) != all(stated):  # "almond:50 + clove" leaves the share of clove open
            return None
        try:
            shares = [float(share) if all(stated) else 1 / len(pairs) for _, _, share in pairs]
            return Mixture.from_parts(names, shares) if all(names) else None
        except (ValueError, UnmixError):
            return None
    recipe = parse_recipe(text)
    if recipe is None and not re.search(r"\d(?:_|$)", text.strip()):
        return Mixture((text.strip(),), (1.0,)) if text.strip() else None
    return recipe


def label_of_file(path: str, known: Collection[str]) -> tuple[Mixture | None, tuple[Finding, ...]]:
    """Label of a file from its name up to the first dot; the folder is ignored.

    Further dotted parts of the name that spell a different recipe are reported as a conflict.
    """
    stem, *rest = PurePosixPath(path).name.split(".")
    label = parse_recipe(stem, known)
    if label is None:
        return None, (Finding(Code.NO_LABEL, f"{stem!r} names no known substance or recipe: no label"),)
    findings = sum_findings(label, repr(stem))
    for part in rest[:-1]:
        other = parse_recipe(part, known)
        if other is not None and dict(_pairs(other)) != dict(_pairs(label)):
            findings += (Finding(Code.LABEL_CONFLICT, f"the name says {stem!r} and also {part!r}"),)
    return label, findings


def sum_findings(label: Mixture | None, origin: str, line: int | None = None) -> tuple[Finding, ...]:
    """A finding if the shares of a label do not sum to 100 % as written.

    Arguments:
        origin: what states the label, for the message.
        line: where it is stated, if in a line of a file.
    """
    if label is None or label.odd_sum is None:
        return ()
    message = f"the shares of {origin} sum to {label.odd_sum:g}, not 100; they were divided by their sum"
    return (Finding(Code.RATIO_SUM, message, line),)


def _pairs(label: Mixture) -> zip:
    return zip(label.names, label.ratios, strict=True)


def _parts(lower: str) -> list[tuple[str, float]]:
    """Names and shares, or nothing if any of the text is left over."""
    matches = list(_PART.finditer(lower))
    if "".join(match.group() for match in matches) != lower:
        return []
    return [(match[1], float(match[2])) for match in matches]
