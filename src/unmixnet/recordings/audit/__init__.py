"""Auditing a folder of recordings: copies, computed files, sessions, label conflicts and leaks, from the
files alone.

`audit_folder(path)` reads everything and returns an `AuditReport`; `unmixnet audit` prints it or writes a
page.
"""

from unmixnet.recordings.audit.files import AuditedFile, gather
from unmixnet.recordings.audit.inspect import audit_folder, audit_recordings
from unmixnet.recordings.audit.report import (
    AuditReport,
    FileVerdict,
    Kind,
    Leak,
    Proximity,
    Refusal,
    Session,
    SplitSummary,
)

__all__ = [
    "AuditReport",
    "AuditedFile",
    "FileVerdict",
    "Kind",
    "Leak",
    "Proximity",
    "Refusal",
    "Session",
    "SplitSummary",
    "audit_folder",
    "audit_recordings",
    "gather",
]
