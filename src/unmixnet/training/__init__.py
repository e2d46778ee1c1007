"""Training: examples from recordings, the closed-loop loss, deterministic epochs, checkpoints that survive anything."""
