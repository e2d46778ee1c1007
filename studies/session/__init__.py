"""What labelled recordings of a new session are worth to every model."""
