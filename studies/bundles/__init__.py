"""What the shipped models are worth on recordings that they have not seen."""
