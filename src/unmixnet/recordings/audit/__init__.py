"""Auditing a folder of recordings: copies, computed files, sessions, label conflicts and leaks, from the
files alone.

`audit_folder(path)` reads everything and returns an `AuditReport`; `unmixnet audit` prints it or writes a
page.
"""

from unmixnet.recordings.audit.files import Take, gather
from unmixnet.recordings.audit.inspect import audit_folder, audit_takes
from unmixnet.recordings.audit.report import AuditReport, Kind, Leak, Proximity, Refusal, Session, SplitSummary, Verdict

__all__ = [
    "AuditReport",
    "Kind",
    "Leak",
    "Proximity",
    "Refusal",
    "Session",
    "SplitSummary",
    "Take",
    "Verdict",
    "audit_folder",
    "audit_takes",
    "gather",
]
