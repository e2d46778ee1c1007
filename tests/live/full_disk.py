"""A store whose disk is full for a while: SQLite itself refuses to let the file grow."""

from collections.abc import Iterator
from contextlib import contextmanager

from unmixnet.live.store import Store

_PLENTY = 1_000_000_000


@contextmanager
def full_disk(store: Store) -> Iterator[None]:
    """Within, every write that needs one more page fails as it does on a full disk."""
    with store._lock:
        pages = store._read("PRAGMA page_count")[0][0]
        store._read(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        store._read(f"PRAGMA max_page_count = {_PLENTY}")
