"""`python -m studies audit`: what the audit of the data set finds."""

import json

from studies.options import RESULTS, AsJson, Data, Out, store

__all__ = ["audit"]


def audit(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The audit of SmellNet, in the numbers that the documentation quotes; half a minute."""
    from studies.audit.audit import reproduce_audit
    from unmixnet.cli.output import progress
    from unmixnet.files.provenance import provenance

    with progress() as display:
        found = reproduce_audit(data, progress=display)
    result = provenance("python -m studies audit", datasets=found)
    store(result, out or RESULTS / "audit.json")
    print(json.dumps(result, indent=1) if as_json else "\n".join(str(item["headline"]) for item in found.values()))
