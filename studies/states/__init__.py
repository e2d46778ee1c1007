"""The physical-state benchmark: what models imply about concentration, flux, coverage and mass, beside a simulator."""
