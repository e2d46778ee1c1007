"""What each rule of the model is worth (research question 3)."""
