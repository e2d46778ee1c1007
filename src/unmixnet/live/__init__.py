"""Live unmixing: sources of samples, the store that keeps them, the engine that unmixes them, the page on top.

Private: nothing here is part of the public interface.
"""
