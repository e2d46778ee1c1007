"""Mixtures from steady signals: the physics at its fixed point, sessions as nuisances, and Bayes' rule."""
