"""More than one process, machine or device: work is spread by the standard library, by Ray, or by jax itself."""
