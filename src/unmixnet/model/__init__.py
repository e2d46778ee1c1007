"""The model: an encoder infers the mixture, networks set the coefficients, the solver advances the state.

Private: nothing here is part of the public interface.
"""
