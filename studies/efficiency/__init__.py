"""What every model costs (research question 4)."""
