"""The model: an encoder proposes mixture and coefficients, networks set coefficients, the solver moves the state.

Private: nothing here is part of the public interface.
"""
