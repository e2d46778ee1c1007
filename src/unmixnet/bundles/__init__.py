"""Bundles that ship with the package, one folder each."""
