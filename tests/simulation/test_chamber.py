"""A chamber that cannot exist is refused with its place and a remedy; one that can has the right incidence."""

import numpy as np
import pytest

from unmixnet.errors import ChamberError, UnmixError
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor

A, B, C = Cell("a", 1e-6), Cell("b", 2e-6), Cell("c", 3e-6)
SPONGE = Cell("c", 1e-6)
object.__setattr__(SPONGE, "kind", "sponge")  # past the type checker, as an untyped caller would
AB, BC = Edge("a", "b", 0.01, 1e-4), Edge("b", "c", 0.02, 2e-4)


def build(cells=(A, B, C), edges=(AB, BC), sensors=()) -> Chamber:
    return Chamber(tuple(cells), tuple(edges), tuple(sensors))


def test_incidence_is_minus_one_where_an_edge_leaves_and_plus_one_where_it_enters():
    assert np.array_equal(build().incidence, [[-1, 0], [1, -1], [0, 1]])
    turned = build(edges=(Edge("b", "a", 0.01, 1e-4), BC))
    assert np.array_equal(turned.incidence, [[1, 0], [-1, -1], [0, 1]])


def test_the_geometry_has_the_same_divergence_as_the_incidence():
    import jax.numpy as jnp

    flow = np.array([[1.0, 2.0], [3.0, -4.0]])
    assert np.allclose(build().geometry().divergence(jnp.asarray(flow.T)).T, build().incidence @ flow)
    assert np.any(build().incidence @ flow)


REFUSED = {
    "no cells": ({"cells": (), "edges": ()}, "cells", "Add a cell"),
    "same name": ({"cells": (A, B, A)}, "cells[2] (a)", "Rename"),
    "unknown kind": ({"cells": (A, B, SPONGE)}, "cells[2] (c)", "Use one of"),
    "no volume": ({"cells": (A, Cell("b", 0.0), C)}, "cells[1] (b)", "volume_m3"),
    "negative volume": ({"cells": (A, Cell("b", -1e-6), C)}, "cells[1] (b)", "volume_m3"),
    "volume not a number": ({"cells": (A, Cell("b", np.nan), C)}, "cells[1] (b)", "volume_m3"),
    "negative inlet": ({"cells": (A, Cell("b", 1e-6, inlet_m3_s=-1.0), C)}, "cells[1] (b)", "positive"),
    "infinite outlet": ({"cells": (A, Cell("b", 1e-6, outlet_m3_s=np.inf), C)}, "cells[1] (b)", "positive"),
    "dangling edge": ({"edges": (AB, Edge("b", "cc", 0.01, 1e-4))}, "edges[1] (b → cc)", "Did you mean 'c'"),
    "self edge": ({"edges": (AB, BC, Edge("c", "c", 0.01, 1e-4))}, "edges[2] (c → c)", "Remove"),
    "no length": ({"edges": (Edge("a", "b", 0.0, 1e-4), BC)}, "edges[0] (a → b)", "length_m"),
    "no area": ({"edges": (AB, Edge("b", "c", 0.01, -1e-4))}, "edges[1] (b → c)", "area_m2"),
    "infinite wind": ({"edges": (AB, Edge("b", "c", 0.01, 1e-4, np.inf))}, "edges[1] (b → c)", "finite"),
    "dangling sensor": ({"sensors": (Sensor("CO", "bb"),)}, "sensors[0] (CO)", "Did you mean 'b'"),
    "same sensor": ({"sensors": (Sensor("CO", "a"), Sensor("CO", "b"))}, "CO", "Rename"),
    "disconnected": ({"edges": (AB,)}, "cell c", "Add an edge"),
    "continuity": ({"edges": (Edge("a", "b", 0.01, 1e-4, 1.0), BC)}, "cell a", "Balance"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_exist_is_refused_with_the_place_and_the_remedy(name):
    parts, where, remedy = REFUSED[name]
    with pytest.raises(ChamberError) as error:
        build(**parts)
    assert isinstance(error.value, UnmixError)
    assert where in error.value.where
    assert remedy in error.value.remedy
    assert error.value.where in str(error.value) and error.value.problem in str(error.value)


def test_the_cell_that_breaks_continuity_is_named():
    wind = [Edge("a", "b", 0.01, 1e-4, 1.0), Edge("b", "c", 0.01, 2e-4, 0.5)]
    open_ended = (Cell("a", 1e-6, inlet_m3_s=1e-4), B, Cell("c", 1e-6, outlet_m3_s=1e-4))
    assert build(open_ended, wind).flow_m3_s == pytest.approx([1e-4, 1e-4])
    with pytest.raises(ChamberError, match=r"cell c: .*\+1e-05"):
        build((open_ended[0], B, Cell("c", 1e-6, outlet_m3_s=0.9e-4)), wind)


def test_a_fixed_cell_may_break_continuity():
    wind = [Edge("a", "b", 0.01, 1e-4, 1.0), Edge("b", "c", 0.01, 1e-4, 1.0)]
    ends = (Cell("a", 1e-6, "fixed"), B, Cell("c", 1e-6, "fixed"))
    assert build(ends, wind).cells_of("fixed").tolist() == [0, 2]


def test_cfl_counts_everything_that_leaves_a_cell():
    wind = [Edge("a", "b", 0.01, 1e-4, 1.0), Edge("c", "b", 0.01, 1e-4, -1.0)]
    chamber = build((Cell("a", 1e-6, inlet_m3_s=1e-4), B, Cell("c", 4e-6, outlet_m3_s=1e-4)), wind)
    assert chamber.cfl(0.01) == pytest.approx(1.0)
    assert chamber.cfl(0.02) == pytest.approx(2.0)


def test_the_diffusion_number_is_that_of_the_tightest_cell():
    conductance = 1e-4 / 0.01
    assert build().diffusion_number(1.0, 1e-5) == pytest.approx(1e-5 * max(conductance / 1e-6, 2 * conductance / 2e-6))


def test_a_chamber_is_frozen():
    with pytest.raises(AttributeError):
        build().cells = ()
