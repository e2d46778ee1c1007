"""Simulating a chamber: its parts, ready-made ones, TOML files, the solver on it, and its validation.

Private: import the public names from `unmixnet`.
"""
