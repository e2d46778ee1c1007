"""Simulated recordings: bounds, recovered coefficients, the calibrated simulator."""
