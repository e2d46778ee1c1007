"""Bundles that ship with the package, one folder each.

Private: nothing here is part of the public interface.
"""
