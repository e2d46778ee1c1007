"""The training objective: L = Σ λ L, one law per file, each for one sample (`vmap` lifts it).

L_mix in `mixture`, L_rec in `reconstruction`, L_MS in `flux`, L_cons in `conservation`, L_ads in `adsorption`, L_freq
in `frequency`, L_ident in `fingerprints`, the entropy of an inferred source place in `source`, the λ in `weights`.

L_MS, L_cons and L_ads vanish for the full solver, whatever its coefficients: there they are diagnostics. They bite
where a rule has been removed.
"""
