"""The second simulator keeps its own laws; what recordings of one recipe differ by is measured and drawn again."""

from dataclasses import replace

import numpy as np
import pytest

from studies.states.physical import TraceNuisances
from studies.states.sips_simulator import SipsSimulator
from studies.states.worlds import ROWS, _dataset, _matched
from unmixnet.recordings.datasets import Dataset, Entry
from unmixnet.recordings.preprocessing import log_conductance
from unmixnet.recordings.recording import Mixture

SENSORS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def sips() -> SipsSimulator:
    return SipsSimulator.drawn(SENSORS, 3)


@pytest.fixture(scope="module")
def played(sips):
    return sips.play(np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]), seconds=10)


def test_what_is_not_in_the_recipe_is_nowhere(played):
    states = played.states
    for part in (states.concentration, states.coverage, states.mass):
        assert part[0, ..., 1:].max() == 0
        assert part[2].min() > 0


def test_coverages_stay_below_one(played):
    assert played.states.coverage.sum(axis=-1).max() < 1


def test_the_isotherm_is_sips_and_with_exponent_one_langmuir(sips):
    c = np.abs(np.random.default_rng(0).normal(size=(2, 10, 3))) / sips.affinity.mean()
    cells = [sips.chamber.index[one.cell] for one in sips.chamber.sensors]
    bc = sips.affinity * c[:, cells]
    langmuir = bc / (1 + bc.sum(axis=2, keepdims=True))
    straight = replace(sips, exponent=np.ones(4))
    np.testing.assert_allclose(straight.settled(c), langmuir)
    assert np.abs(sips.settled(c) - langmuir).max() > 0.02


def test_gas_is_conserved_where_nothing_enters_or_leaves(sips):
    """Without film and draught the step moves moles and makes none; with the draught they leave."""
    still = replace(sips.chamber.cells[0], inlet_m3_s=0.0)
    cells = (still, *(replace(cell, outlet_m3_s=0.0) for cell in sips.chamber.cells[1:]))
    edges = tuple(replace(edge, velocity_m_s=0.0) for edge in sips.chamber.edges)
    closed = replace(sips, chamber=replace(sips.chamber, cells=cells, edges=edges), transfer=np.full(3, 1e-30))
    volume = sips.chamber.volume_m3
    for one, loses in ((closed, False), (replace(sips, transfer=np.full(3, 1e-30)), True)):
        step = one._gas()[0] if loses else _closed_step(one)
        left = (volume @ step[0] @ np.ones(len(volume))) / volume.sum()
        assert (left < 0.999) if loses else left == pytest.approx(1, abs=1e-12)


def _closed_step(simulator: SipsSimulator) -> np.ndarray:
    """A closed chamber's matrix is singular, so that its feed cannot be had; a trace of outlet makes it regular."""
    cells = (*simulator.chamber.cells[:-1], replace(simulator.chamber.cells[-1], outlet_m3_s=1e-18))
    chamber = object.__new__(type(simulator.chamber))
    for name, value in {**vars(simulator.chamber), "cells": cells}.items():
        object.__setattr__(chamber, name, value)
    return replace(simulator, chamber=chamber)._gas()[0]


def test_diffusion_runs_downhill(sips, played):
    c, J = played.states.concentration, played.states.flux
    drop = c[:, :, sips.chamber.tail] - c[:, :, sips.chamber.head]
    assert np.all(J * drop >= 0)
    assert np.abs(J).max() > 0


def test_a_recording_is_neither_clean_nor_settled_when_it_begins(played):
    M = played.states.scalars()["C"]
    assert M[:, 0].min() > 0
    assert np.all(np.abs(M[:, -1] / M[:, 0] - 1) > 0.01)


# ---------------------------------------------------------------- nuisances


def _planted() -> tuple[TraceNuisances, np.ndarray, list[str], list[str]]:
    rng = np.random.default_rng(3)
    scale = np.diag([1.0, 2.0])
    planted = TraceNuisances(0.3**2 * scale, 0.1**2 * scale, 0.2**2 * scale, 0.01**2 * scale)
    recipes = [f"r{i % 10}" for i in range(600)]
    sessions = [f"s{i // 10 % 20}" for i in range(600)]
    level = {name: rng.normal(size=2) for name in recipes}
    clean = np.stack([level[name] for name in recipes])[:, None].repeat(40, axis=1)
    return planted, clean + planted.drawn(sessions, 40, seed=1), recipes, sessions


def test_planted_spreads_are_measured():
    planted, traces, recipes, sessions = _planted()
    found = TraceNuisances.measured(traces, recipes, sessions)
    for name, tolerance in (("session", 0.5), ("take", 0.2), ("slope", 0.2), ("white", 0.25)):
        np.testing.assert_allclose(
            np.diag(getattr(found, name)), np.diag(getattr(planted, name)), rtol=tolerance, err_msg=name
        )


def test_sessions_that_are_named_wrongly_hide_the_session():
    planted, traces, recipes, sessions = _planted()
    shuffled = [*np.random.default_rng(0).permutation(sessions)]
    found = TraceNuisances.measured(traces, recipes, shuffled)
    assert np.diag(found.session)[0] < 0.3 * np.diag(planted.session)[0]
    assert np.diag(found.take)[0] > 3 * np.diag(planted.take)[0]


def test_recordings_of_a_session_share_its_level():
    zero = np.zeros((1, 1))
    drawn = TraceNuisances(np.ones((1, 1)), zero, zero, zero).drawn(["x", "y", "x"], 5)
    assert np.ptp(drawn[0] - drawn[2]) == 0
    assert np.abs(drawn[0] - drawn[1]).min() > 0


# ---------------------------------------------------------------- recordings


def test_traces_come_back_as_recordings_within_a_count():
    traces = np.random.default_rng(0).normal(0, 1, (2, ROWS, 4))
    like = Dataset("like", None, (), ("x", "y"), lambda data, entry: None)  # pyright: ignore[reportArgumentType]
    made = _dataset("frozen", like, {"p": 0, "q": 1}, SENSORS, traces)
    label = Mixture.from_parts(["x"], [1.0])
    read = made.read(Entry("q", "", label))
    assert (read.label, read.channels, len(read)) == (label, SENSORS, ROWS)
    np.testing.assert_allclose(log_conductance(read.readings), traces[1], atol=0.02)
    other = _dataset("frozen", like, {"p": 0, "q": 1}, SENSORS, traces + 0.1)
    assert other.name != made.name, "finished trainings on other traces would be taken for these"


def test_a_matched_signal_has_the_mean_and_spread_of_real_training_recordings():
    rng = np.random.default_rng(0)
    signal, level = rng.exponential(size=(9, 30, 4)), rng.normal(5, 3, (50, 4))
    mine = _matched(signal, level, [*range(6)])[:6].mean(axis=1)
    np.testing.assert_allclose(mine.mean(axis=0), level.mean(axis=0))
    np.testing.assert_allclose(mine.std(axis=0), level.std(axis=0))
