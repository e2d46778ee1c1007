"""A refined chamber is the same chamber: volumes, flows, resistances and uniform states; only finer."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.errors import ChamberError
from unmixnet.simulation.builders import BUILDERS, chain, flow_through, portable_enose
from unmixnet.simulation.chamber import Cell, Chamber, Edge, Sensor
from unmixnet.simulation.refinement import Refinement, refine, refined

D = 1e-5


def rates(chamber: Chamber) -> np.ndarray:
    """dc/dt = rates · c of a trace gas that diffuses by Fick's law and flows upwind."""
    V, B = chamber.volume_m3, chamber.incidence
    G = np.array([D * edge.area_m2 / edge.length_m for edge in chamber.edges])
    moving = -B @ np.diag(G) @ B.T
    for e, flow in enumerate(chamber.flow_m3_s):
        source = chamber.tail[e] if flow > 0 else chamber.head[e]
        moving[:, source] += abs(flow) * B[:, e] * np.sign(flow)
    return (moving - np.diag([cell.outlet_m3_s for cell in chamber.cells])) / V[:, None]


def steady(chamber: Chamber) -> np.ndarray:
    """Concentrations while the source cells release one unit in all, evenly over their volume."""
    release = np.zeros(len(chamber.cells))
    source = chamber.cells_of("source")
    release[source] = 1 / chamber.volume_m3[source].sum()
    return np.linalg.solve(-rates(chamber), release)


def resistance(chamber: Chamber) -> float:
    """Effective ℓ/A [1/m] between the two cells of fixed composition."""
    B = chamber.incidence
    laplacian = B @ np.diag([edge.area_m2 / edge.length_m for edge in chamber.edges]) @ B.T
    first, last = chamber.cells_of("fixed")
    push = np.zeros(len(chamber.cells))
    push[first], push[last] = 1, -1
    potential = np.linalg.pinv(laplacian) @ push
    return float(potential[first] - potential[last])


def ends_held(chamber: Chamber) -> Chamber:
    """The same chamber with a fixed composition in its first and last cell."""
    cells = [replace(cell, kind="fixed") if i in (0, len(chamber.cells) - 1) else cell for i, cell in
             enumerate(chamber.cells)]  # fmt: skip
    return Chamber(tuple(cells), chamber.edges, chamber.sensors)


@pytest.mark.parametrize("name", BUILDERS)
def test_one_part_is_the_identity(name):
    chamber = BUILDERS[name]()
    same = refine(chamber, 1)
    assert same.chamber == chamber
    assert np.array_equal(same.coarse_cell, np.arange(len(chamber.cells)))
    assert np.array_equal(same.coarse_edge, np.arange(len(chamber.edges)))


@pytest.mark.parametrize("parts", [2, 4])
@pytest.mark.parametrize("name", BUILDERS)
def test_volumes_and_openings_add_up_and_kinds_are_kept(name, parts):
    chamber = BUILDERS[name]()
    made = refine(chamber, parts)
    assert len(made.chamber.cells) == parts * len(chamber.cells)
    volume = np.bincount(made.coarse_cell, made.chamber.volume_m3)
    assert volume == pytest.approx(chamber.volume_m3)
    for opening in ("inlet_m3_s", "outlet_m3_s"):
        fine = np.bincount(made.coarse_cell, [getattr(cell, opening) for cell in made.chamber.cells])
        assert fine == pytest.approx([getattr(cell, opening) for cell in chamber.cells])
    assert all(cell.kind == chamber.cells[v].kind for cell, v in zip(made.chamber.cells, made.coarse_cell, strict=True))
    breathed = [made.coarse_cell[made.chamber.index[sensor.cell]] for sensor in made.chamber.sensors]
    assert breathed == [chamber.index[sensor.cell] for sensor in chamber.sensors]


@given(flow=st.floats(1e-8, 1e-5), parts=st.sampled_from([2, 3, 4]))
def test_every_coarse_edge_carries_the_same_flow(flow, parts):
    made = refine(portable_enose(flow_m3_s=flow), parts)
    across = made.coarse_edge >= 0
    carried = np.bincount(made.coarse_edge[across], made.chamber.flow_m3_s[across])
    assert carried == pytest.approx(made.coarse.flow_m3_s)
    surplus = made.chamber.incidence @ made.chamber.flow_m3_s
    assert surplus[1:-1] == pytest.approx(0, abs=1e-12 * flow), "nothing gathers between inlet and outlet"
    assert surplus[0] == pytest.approx(-flow) and surplus[-1] == pytest.approx(flow)


@pytest.mark.parametrize("parts", [2, 3, 8])
@pytest.mark.parametrize("make", [chain, flow_through, portable_enose], ids=lambda make: make.__name__)
def test_the_resistance_to_diffusion_from_end_to_end_stays(make, parts):
    held = ends_held(make())
    assert resistance(refined(held, parts)) == pytest.approx(resistance(held), rel=1e-9)


def test_twin_a_sub_cell_of_the_wrong_length_is_seen():
    held = ends_held(portable_enose())
    fine = refined(held, 4)
    longer = replace(fine.edges[-1], length_m=1.1 * fine.edges[-1].length_m)
    assert resistance(replace(fine, edges=(*fine.edges[:-1], longer))) != pytest.approx(resistance(held), rel=1e-4)


@pytest.mark.parametrize("parts", [2, 4])
def test_a_straight_tube_becomes_the_finer_tube(parts):
    fine, finer = refined(chain(4, length_m=0.08), parts), chain(4 * parts, length_m=0.08)
    assert sorted(edge.length_m for edge in fine.edges) == pytest.approx([edge.length_m for edge in finer.edges])
    assert [edge.area_m2 for edge in fine.edges] == pytest.approx([edge.area_m2 for edge in finer.edges])


def test_lateral_edges_share_their_conductance_among_the_sub_cells():
    made = refine(portable_enose(), 4)
    for e in range(5, 9):
        ring = [edge for edge, of in zip(made.chamber.edges, made.coarse_edge, strict=True) if of == e]
        assert len({(edge.tail, edge.head) for edge in ring}) == 4
        conductance = sum(edge.area_m2 / edge.length_m for edge in ring)
        assert conductance == pytest.approx(made.coarse.edges[e].area_m2 / made.coarse.edges[e].length_m)


def uniform_change(chamber: Chamber) -> float:
    """Largest rate of change [1/s] of a uniform gas that the inlet brings too."""
    inlet = np.array([cell.inlet_m3_s for cell in chamber.cells])
    return float(np.max(np.abs(rates(chamber).sum(axis=1) + inlet / chamber.volume_m3)))


def test_a_uniform_gas_stays_uniform():
    assert uniform_change(refined(portable_enose(), 4)) < 1e-12


def test_twin_an_unbalanced_inner_flow_disturbs_a_uniform_gas():
    fine = refined(portable_enose(), 4)
    leaky = replace(fine.edges[-1], velocity_m_s=0.5 * fine.edges[-1].velocity_m_s)
    object.__setattr__(fine, "edges", (*fine.edges[:-1], leaky))  # past the check of continuity
    assert uniform_change(fine) > 0.1


def test_where_diffusion_mixes_each_cell_the_refined_solution_is_the_coarse_one():
    gaps = []
    for flow in (1e-8, 1e-9, 1e-10):
        made = refine(portable_enose(flow_m3_s=flow), 4)
        coarse = steady(made.coarse)
        gaps.append(np.max(np.abs(made.cell_mean(steady(made.chamber)[:, None])[:, 0] / coarse - 1)))
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2]
    assert gaps[2] < 1e-4


def test_finer_and_finer_cells_converge():
    made = [refine(portable_enose(), n) for n in (2, 4, 8, 16)]
    means = [finer.cell_mean(steady(finer.chamber)[:, None]) for finer in made]
    steps = [np.max(np.abs(b - a)) for a, b in pairwise(means)]
    assert steps[0] > 1.5 * steps[1] > 2.25 * steps[2] > 0


def test_means_over_sub_cells_keep_moles_and_means_over_edges_keep_the_rate():
    made, rng = refine(portable_enose(), 4), np.random.default_rng(0)
    c, J = rng.uniform(size=(5, 32, 3)), rng.normal(size=(5, 50, 3))
    moles = np.einsum("v,tvk->tk", made.coarse.volume_m3, made.cell_mean(c))
    assert moles == pytest.approx(np.einsum("v,tvk->tk", made.chamber.volume_m3, c))
    area = np.array([edge.area_m2 for edge in made.chamber.edges])
    coarse_area = np.array([edge.area_m2 for edge in made.coarse.edges])
    rate = np.stack([(area[:, None] * J)[:, made.coarse_edge == e].sum(axis=1) for e in range(14)], axis=1)
    assert coarse_area[:, None] * made.edge_mean(J) == pytest.approx(rate)


def test_the_orientation_of_an_edge_does_not_matter():
    def turned(edge: Edge) -> Edge:
        return replace(edge, tail=edge.head, head=edge.tail, velocity_m_s=-edge.velocity_m_s)

    nose = portable_enose()
    other = Chamber(nose.cells, tuple(turned(edge) for edge in nose.edges), nose.sensors)
    assert rates(refined(other, 3)) == pytest.approx(rates(refined(nose, 3)))


def test_a_side_pocket_is_cut_beside_the_flow():
    cells = (Cell("a", 1e-6, "source", inlet_m3_s=1e-6), Cell("b", 1e-6, outlet_m3_s=1e-6), Cell("pocket", 1e-6))
    edges = (Edge("a", "b", 0.01, 1e-4, 0.01), Edge("b", "pocket", 0.02, 1e-4))
    made: Refinement = refine(Chamber(cells, edges, (Sensor("s", "pocket"),)), 2)
    assert [(e.tail, e.head) for e in made.chamber.edges] == [
        ("a.1", "b.0"), ("b.0", "pocket.0"), ("b.1", "pocket.1"), ("a.0", "a.1"), ("b.0", "b.1"),
        ("pocket.0", "pocket.1"),
    ]  # fmt: skip
    assert np.array_equal(made.coarse_edge, [0, 1, 1, -1, -1, -1])


def test_less_than_one_part_is_refused_with_a_remedy():
    with pytest.raises(ChamberError, match="parts is 0"):
        refined(portable_enose(), 0)
