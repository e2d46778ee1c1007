"""Published oracles and independent references that the solver is compared with."""
