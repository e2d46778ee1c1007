"""`unmixnet reproduce audit`: what the audit of the data set finds."""

import json

from studies.options import RESULTS, AsJson, Data, Out, store

__all__ = ["audit"]


def audit(data: Data = None, as_json: AsJson = False, out: Out = None) -> None:
    """The audit of SmellNet, in the numbers that the documentation quotes; half a minute."""
    from studies.audit.audit import reproduce_audit
    from unmixnet.cli.progress import stages
    from unmixnet.files.provenance import provenance

    with stages() as progress:
        found = reproduce_audit(data, progress=progress)
    result = provenance("unmixnet reproduce audit", datasets=found)
    store(result, out or RESULTS / "audit.json")
    print(json.dumps(result, indent=1) if as_json else "\n".join(str(item["headline"]) for item in found.values()))
