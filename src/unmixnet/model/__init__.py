"""The model: an encoder proposes mixture and coefficients, networks set coefficients, the solver moves the state."""
