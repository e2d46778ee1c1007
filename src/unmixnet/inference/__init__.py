"""From a recording to an answer: cut, read, solve, calibrate, and say how far to trust it.

Private: import the public names from `unmixnet`.
"""
