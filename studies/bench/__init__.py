"""Benchmarks behind `python -m studies bench`: one run, ratios, memory."""
