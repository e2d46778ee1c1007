"""A frozen simulator plays recipes, keeps its laws, and is the same after a journey over the disk."""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.model.tiny import model
from tests.training.calibration.frozen import frozen_model
from unmixnet.errors import ConfigError
from unmixnet.files import ArtefactError
from unmixnet.physics.readout import Sips
from unmixnet.training.calibration import FrozenSimulator
from unmixnet.training.calibration.process_file import pack_process

FOODS = ("mango", "pear", "clove")
RATIOS = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1], [0.2, 0.3, 0.5]])
SECONDS = 6.0


@pytest.fixture(scope="module")
def simulator() -> FrozenSimulator:
    """From a model with random numbers, two sensors and three substances."""
    return frozen_model(model(), FOODS, seconds=SECONDS)


@pytest.fixture(scope="module")
def played(simulator):
    """Four recipes whose chamber fills up."""
    return simulator.simulate(RATIOS, seconds=SECONDS, exposure=np.full(4, 0.2))


def test_states_have_a_place_for_every_sensor_edge_and_substance(simulator, played):
    n, T, E = 4, 6, len(simulator.edges)
    assert played.time_s.tolist() == [1, 2, 3, 4, 5, 6]
    assert played.concentration.shape == played.coverage.shape == (n, T, 2, 3)
    assert played.flux.shape == (n, T, E, 3)
    assert played.mass.shape == (n, T, 3)
    assert played.signal.shape == (n, T, 2)
    for scalar in (played.mean_concentration, played.mean_flux, played.mean_coverage, played.total_mass):
        assert scalar.shape == (n, T)
        assert np.all(scalar > 0)


def test_a_substance_that_is_not_in_the_recipe_is_nowhere(played):
    absent = RATIOS == 0
    assert np.all(played.mass.transpose(0, 2, 1)[absent] == 0)
    assert np.all(played.mass.transpose(0, 2, 1)[~absent] > 0)
    assert np.all(np.moveaxis(played.coverage, 3, 1)[absent] == 0)


def test_states_obey_their_laws_to_rounding(played):
    assert np.max(played.ms_residual) < 1e-5
    assert np.max(played.mass_error) < 1e-5


def test_a_session_changes_the_signal_and_no_state(simulator, played):
    gain, offset = np.full((4, 2), 1.3), np.full((4, 2), 0.2)
    moved = simulator.simulate(
        RATIOS, seconds=SECONDS, exposure=np.full(4, 0.2), session_gain=gain, session_offset=offset
    )
    air = simulator.air
    np.testing.assert_allclose(moved.signal, air + 0.2 + 1.3 * (played.signal - air), rtol=1e-6)
    np.testing.assert_array_equal(moved.coverage, played.coverage)


def test_a_first_sample_is_where_the_trace_starts_whatever_the_session(simulator):
    first = np.array([[0.3, 0.9]] * 4)
    run = simulator.simulate(RATIOS, seconds=SECONDS, first=first, session_gain=np.full((4, 2), 2.0))
    np.testing.assert_allclose(run.first, first, rtol=1e-5)
    np.testing.assert_allclose(run.trace(2.0)[:, 0], first, rtol=1e-5)


def test_a_trace_passes_through_the_steps_of_the_solver(played):
    trace = played.trace(4.0)
    assert trace.shape == (4, 25, 2)
    np.testing.assert_allclose(trace[:, 4::4], played.signal)
    np.testing.assert_allclose(trace[:, 6], 0.5 * (played.signal[:, 0] + played.signal[:, 1]))


def test_more_strength_gives_more_gas_in_proportion(simulator, played):
    twice = simulator.simulate(RATIOS, seconds=SECONDS, exposure=np.full(4, 0.2), strength=np.full(4, 2.0))
    np.testing.assert_allclose(twice.total_mass, 2 * played.total_mass, rtol=1e-3)


def test_a_stored_simulator_plays_the_same_and_knows_its_hash(simulator, played, tmp_path):
    stored = simulator.save(tmp_path / "sim")
    again = FrozenSimulator.load(tmp_path / "sim")
    assert stored.sha256 == again.sha256 != ""
    assert (again.components, again.channels, again.chamber) == (
        simulator.components,
        ("rising", "falling"),
        simulator.chamber,
    )
    run = again.simulate(RATIOS, seconds=SECONDS, exposure=np.full(4, 0.2))
    np.testing.assert_array_equal(run.signal, played.signal)
    np.testing.assert_array_equal(run.flux, played.flux)


def test_a_frozen_folder_is_not_written_over(simulator, tmp_path):
    simulator.save(tmp_path / "sim")
    with pytest.raises(ArtefactError, match="not replaced"):
        simulator.save(tmp_path / "sim")


@pytest.mark.parametrize("name", ["weights.safetensors", "simulator.json", "manifest.json"])
def test_one_flipped_bit_is_noticed(simulator, tmp_path, name):
    simulator.save(tmp_path / "sim")
    file = tmp_path / "sim" / "frozen" / name
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(bytes(raw))
    with pytest.raises(ArtefactError):
        FrozenSimulator.load(tmp_path / "sim")


def test_a_file_has_species_last_as_it_always_had(simulator):
    tensors, _ = pack_process(simulator.process)
    K, M, V = 3, 2, len(simulator.chamber.cells)
    shapes = {name: tensors[name].shape for name in ("surface.k_ads", "readout.beta", "readout.gain_slopes")}
    assert shapes == {"surface.k_ads": (M, K), "readout.beta": (M, K), "readout.gain_slopes": (M, 2)}
    assert tensors["inlet.values"].shape == (1, V, K + 1)
    np.testing.assert_array_equal(tensors["surface.k_ads"], np.asarray(simulator.process.surface.k_ads).T)


def test_another_isotherm_is_stored_too(simulator, tmp_path):
    g = Sips(k=jnp.full(2, 3.0), n=jnp.full(2, 0.7), r0=jnp.full(2, 0.1))
    other = replace(simulator, process=eqx.tree_at(lambda p: p.readout.g, simulator.process, g))
    other.save(tmp_path / "sips")
    again = FrozenSimulator.load(tmp_path / "sips")
    assert isinstance(again.process.readout.g, Sips)
    assert eqx.tree_equal(again.process, other.process)
    assert not eqx.tree_equal(again.process, simulator.process)


@pytest.mark.parametrize("ratios", [np.ones((2, 2)), np.ones(3), -np.ones((1, 3)), np.full((1, 3), np.nan)])
def test_ratios_that_fit_no_recipe_are_refused(simulator, ratios):
    with pytest.raises(ConfigError, match="mango"):
        simulator.simulate(ratios, seconds=SECONDS)


def test_names_must_match_the_coefficients(simulator):
    with pytest.raises(ConfigError, match="2 substances"):
        replace(simulator, components=("mango", "pear"))
