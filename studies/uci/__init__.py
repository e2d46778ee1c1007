"""UCI 322, gas mixtures that change: the laws behind its readings, generated files in its format, and its tables."""
