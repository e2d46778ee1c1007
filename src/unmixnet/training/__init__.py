"""Training: examples from recordings, the closed-loop loss, deterministic epochs, checkpoints that survive anything.

Private: import the public names from `unmixnet`.
"""
