"""Tables of README and docs, written from the stored results."""
