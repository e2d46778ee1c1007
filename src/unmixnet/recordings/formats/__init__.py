"""Formats of recordings, one file each, and what they share: text, fields, tables, time."""
