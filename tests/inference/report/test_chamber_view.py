"""The chamber is drawn as it is: every cell and edge once, shades and rings by the numbers."""

import dataclasses
import math
import re

import numpy as np
import pytest

from unmixnet.inference.report import States
from unmixnet.inference.report.chamber import SHEETS, chamber_view, contrast_time, layout, sensors_by_cell


def wide(answer) -> str:
    return chamber_view(answer).split("</svg>")[0]


def test_every_cell_edge_and_sensor_is_drawn_once(mixture):
    drawn = wide(mixture)
    assert drawn.count('class="cell"') == len(mixture.states.cells)
    assert drawn.count('class="edge"') == len(mixture.states.edges)
    assert drawn.count('class="ring taken"') == len(mixture.channels)


def test_shades_follow_the_concentrations(mixture):
    total = mixture.states.concentration_ppm[contrast_time(mixture.states)].sum(axis=1)
    shades = [float(s) for s in re.findall(r'fill-opacity="([\d.]+)"', wide(mixture))]
    assert shades == pytest.approx(0.06 + 0.94 * total / total.max(), abs=1e-3)


def test_rings_follow_the_coverages(mixture):
    taken = mixture.states.coverage[contrast_time(mixture.states)].sum(axis=1)
    rings = re.findall(r'r="([\d.]+)" stroke-dasharray="([\d.]+) ', wide(mixture))
    shares = [float(filled) / (2 * math.pi * float(radius)) for radius, filled in rings]
    assert shares == pytest.approx(taken, abs=2e-3)


def test_arrows_turn_with_the_flux(mixture):
    def angles(answer):
        return [float(a) for a in re.findall(r"rotate\((-?[\d.]+)\)", wide(answer))]

    back = dataclasses.replace(mixture.states, flux_mol_m2_s=-mixture.states.flux_mol_m2_s)
    here, there = angles(mixture), angles(dataclasses.replace(mixture, states=back))
    turned = [abs((a - b + 180) % 360 - 180) for a, b in zip(here, there, strict=True)]
    assert len(here) >= 10 and turned == pytest.approx([180.0] * len(here), abs=0.2)


def test_cells_do_not_overlap_and_stay_on_the_sheet(mixture):
    for sheet in SHEETS:
        places, radius = layout(mixture.states, sheet)
        apart = [math.dist(p, q) for i, p in enumerate(places) for q in places[:i]]
        assert min(apart) > 2 * radius
        assert all(radius < x < sheet.width - radius and radius < y < sheet.height - radius for x, y in places)


def test_sensors_sit_where_the_model_says_or_on_the_boards_in_turn(mixture):
    silent = dataclasses.replace(mixture, states=dataclasses.replace(mixture.states, seats=()))
    assert sensors_by_cell(silent) == sensors_by_cell(mixture) == {f"board{m}": [m] for m in range(4)}
    told = dataclasses.replace(mixture, states=dataclasses.replace(mixture.states, seats=("lid",) * 4))
    assert sensors_by_cell(told) == {"lid": [0, 1, 2, 3]}


@pytest.mark.parametrize("edges", [(), ("a → b",), ("a → nowhere",), ("no arrow",), ("a → a",), ("a → b → c",)])
def test_odd_chambers_are_drawn_without_complaint(mixture, edges):
    T, K, M = 5, len(mixture.components), len(mixture.channels)
    cells = ("a", "b", "c")
    states = States(cells, edges, np.arange(T), np.ones((T, 3, K)), np.ones((T, len(edges), K)), np.zeros((T, M, K)))
    assert wide(dataclasses.replace(mixture, states=states)).count('class="cell"') == 3
