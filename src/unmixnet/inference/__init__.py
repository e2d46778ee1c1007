"""From a recording to an answer: windows, encoder, solver, calibrated shares, and how far to trust them.

Private: import the public names from `unmixnet`.
"""
