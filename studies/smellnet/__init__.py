"""Every model on every protocol (research question 1)."""
