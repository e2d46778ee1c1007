"""`python -m studies bundles`: what the shipped models are worth on recordings they have not seen."""

import json

from studies.options import RESULTS, AsJson, Data, Out, store

__all__ = ["bundles"]


def bundles(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The shipped bundles on recordings that they have not seen: errors, coverage and width of the intervals."""
    from studies.bundles.shipped import shipped_scores
    from unmixnet.cli.output import progress
    from unmixnet.files.provenance import provenance

    result = provenance("python -m studies bundles", tests=[])
    with progress() as display:
        for found in shipped_scores(data, display):
            result["tests"].append(found)
            store(result, out or RESULTS / "bundles.json")
    if as_json:
        print(json.dumps(result, indent=1))
        return
    for found in result["tests"]:
        print(
            f"{found['bundle']} on {found['split']}, {found['recordings']} recordings: intervals of 90 % hold "
            f"{100 * found['coverage']:.0f} % of all shares, {100 * found['covered_present']:.0f} % of those that are "
            f"there; their mean width is {found['width']:.2f}"
        )
