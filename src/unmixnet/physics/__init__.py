"""The forward process: jax in, jax out; no files, no learning, no globals.

One law per file, in the order of a solver step: `source`, `advection`, `diffusion` (with the edge flux of
`maxwell_stefan`), `adsorption`, `readout`; `step` composes them, `rollout` repeats it, `closure` checks what comes out.
"""
