"""Reproducing every table: same protocols, same windows, null baselines and controls beside the models."""
