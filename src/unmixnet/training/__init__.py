"""Training: examples from recordings, the closed-loop loss, deterministic epochs, atomic checkpoints.

Private: import the public names from `unmixnet`.
"""
