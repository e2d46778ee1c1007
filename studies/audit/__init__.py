"""What the audit of SmellNet finds."""
