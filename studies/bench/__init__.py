"""Benchmarks behind `unmixnet bench`: one run, ratios, memory."""
