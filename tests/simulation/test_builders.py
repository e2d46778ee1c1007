"""Chambers that people build: their volumes, sensors and flows are what was asked for."""

import numpy as np
import pytest

from unmixnet.errors import ChamberError
from unmixnet.simulation.builders import BUILDERS, box, chain, flow_through, portable_enose, two_bulbs


@pytest.mark.parametrize("name", BUILDERS)
def test_flows_balance_in_every_cell(name):
    chamber = BUILDERS[name]()
    inlet = np.array([cell.inlet_m3_s for cell in chamber.cells])
    outlet = np.array([cell.outlet_m3_s for cell in chamber.cells])
    surplus = chamber.incidence @ chamber.flow_m3_s + inlet - outlet
    assert np.max(np.abs(surplus)) <= 1e-12 * max(np.max(np.abs(chamber.flow_m3_s)), 1e-30)
    assert np.all(chamber.volume_m3 > 0)
    assert chamber.incidence.sum() == 0


@pytest.mark.parametrize("name", ["flow_through", "portable_enose"])
def test_gas_flows_through_where_it_should(name):
    chamber = BUILDERS[name]()
    assert sum(cell.inlet_m3_s for cell in chamber.cells) > 0
    assert np.any(chamber.flow_m3_s > 0)
    assert chamber.cells_of("outlet").size == 1 and chamber.cells_of("source").size == 1


@pytest.mark.parametrize("n", [2, 5, 16])
def test_a_chain_divides_its_tube(n):
    tube = chain(n, length_m=0.08, area_m2=1e-4, sensors=2)
    assert tube.volume_m3.sum() == pytest.approx(0.08e-4)
    assert len(tube.edges) == n - 1 and [s.cell for s in tube.sensors] == [f"c{n - 1}"] * 2
    assert chain(n, fixed_ends=True).cells_of("fixed").tolist() == [0, n - 1]


@pytest.mark.parametrize("counts", [(2, 2, 2), (4, 1, 1), (3, 2, 1)])
def test_a_box_fills_its_size_and_joins_neighbours(counts):
    nx, ny, nz = counts
    room = box(nx, ny, nz, size_m=(0.1, 0.2, 0.3), sensors=3)
    assert room.volume_m3.sum() == pytest.approx(0.006)
    assert len(room.edges) == (nx - 1) * ny * nz + nx * (ny - 1) * nz + nx * ny * (nz - 1)
    assert len(room.sensors) == 3 and room.cells_of("source").tolist() == [0]
    faces = {edge.length_m: edge.area_m2 for edge in room.edges}
    assert all(length * area == pytest.approx(room.volume_m3[0]) for length, area in faces.items())


@pytest.mark.parametrize("n", [1, 16, 64])
def test_two_bulbs_keep_length_over_area_however_fine_the_capillary(n):
    bulbs = two_bulbs(n)
    assert sum(edge.length_m / edge.area_m2 for edge in bulbs.edges) == pytest.approx(25810.0)
    assert bulbs.volume_m3[[0, -1]] == pytest.approx([77.99e-6, 78.63e-6])
    assert bulbs.volume_m3[1:-1].sum() == pytest.approx(0.0859**2 / 25810.0)


@pytest.mark.parametrize("n", [2, 6, 12])
def test_a_flow_through_cell_passes_its_flow_on(n):
    cell = flow_through(n, volume_m3=60e-6, flow_m3_s=5e-6, sensors=4)
    assert cell.volume_m3.sum() == pytest.approx(60e-6)
    assert cell.flow_m3_s == pytest.approx(np.full(n - 1, 5e-6))
    assert len(cell.sensors) == 4


def test_the_portable_enose_is_small_and_gives_every_sensor_its_own_cell():
    nose = portable_enose()
    assert len(nose.cells) <= 10
    assert len({sensor.cell for sensor in nose.sensors}) == 4
    assert [sensor.name for sensor in nose.sensors] == ["NO2", "C2H5OH", "VOC", "CO"]
    assert len(portable_enose(sensors=tuple("abcdef")).sensors) == 6


@pytest.mark.parametrize(
    "wrong", [lambda: chain(1), lambda: box(1, 1, 1), lambda: two_bulbs(0), lambda: flow_through(1)]
)
def test_too_few_cells_are_refused_with_a_remedy(wrong):
    with pytest.raises(ChamberError) as error:
        wrong()
    assert error.value.where and error.value.remedy
