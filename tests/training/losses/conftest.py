"""Shapes and types of the objective are checked in its tests."""

import jaxtyping

jaxtyping.install_import_hook("unmixnet.training.losses", "beartype.beartype")
