"""How studies are run: models, folds, seeds, the work folder, predictions and rows."""
