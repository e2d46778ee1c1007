"""The ablation: each rule changes what it is about, and only where it can."""

from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from studies.ablation import closure_scores, coupling
from studies.ablation.closure_scores import RatioTally, state_tallies, tally_row
from studies.harness.benches import ConcentratedBench, NetworkBench, at_amount, bench_for
from studies.harness.definitions import STUDIES, StudyFold
from studies.harness.jobs import Options, config_of, fold_jobs, idle
from studies.harness.variants import ABLATIONS, UNMIXNET, Network
from studies.states.state_scores import CellStates
from unmixnet.model.release import CONCENTRATION
from unmixnet.model.settings import Settings
from unmixnet.model.unmixnet import UnMixNet
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import Mixture
from unmixnet.recordings.simulated import TYPICAL_MOL
from unmixnet.simulation.builders import portable_enose

HIGH = STUDIES["ablation"][0]
GASES = "6 gases in air, draught of 0.2 ml/s"


# ---------------------------------------------------------------- what Maxwell–Stefan can and cannot change


@pytest.fixture(scope="module")
def laws() -> dict[tuple[float, str], coupling.Departure]:
    """Ten seconds of the six gases, at 10 ppm, 1000 ppm and three tenths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coupling, "SECONDS", 10)
        names = ("fick", "unconstrained flux")
        rows = [row for fraction in (1e-5, 1e-3, 0.3) for row in coupling.departures(GASES, fraction, names)]
    return {(row.fraction, row.law): row for row in rows}


@pytest.mark.soak
@pytest.mark.parametrize("law", ["fick", "unconstrained flux"])
def test_at_ppm_other_fluxes_equal_maxwell_stefan_to_the_order_of_the_fraction(laws, law):
    low, high = laws[1e-5, law], laws[1e-3, law]
    assert 0 < low.flux < 1e-5 and 0 < low.signal < 1e-5
    assert high.flux / low.flux == pytest.approx(100, rel=0.02)
    assert high.signal / low.signal == pytest.approx(100, rel=0.02)


@pytest.mark.soak
@pytest.mark.parametrize("law", ["fick", "unconstrained flux"])
def test_twin_at_three_tenths_of_the_air_they_do_not(laws, law):
    assert laws[0.3, law].flux > 0.01 and laws[0.3, law].signal > 1e-3


@pytest.mark.soak
def test_every_law_conserves_moles_and_only_the_unconstrained_flux_moves_the_gas_as_a_whole(laws):
    for (_, law), row in laws.items():
        assert row.mass_error < 1e-14
        assert (row.net_flux > 0.05) == (law == "unconstrained flux")


@pytest.mark.soak
def test_only_maxwell_stefan_satisfies_its_relation(laws):
    for (fraction, law), row in laws.items():
        exact = law == "maxwell–stefan"
        assert (row.ms_residual < 1e-14) == exact
        assert exact or row.ms_residual < 2 * fraction


# ---------------------------------------------------------------- the closure of a network's rollout


@pytest.fixture(scope="module")
def drawn() -> UnMixNet:
    """An untrained network of three substances, in single precision."""
    settings = Settings(release="rise-decay", start="clean air", rate_Hz=1.0)
    chamber = portable_enose(flow_m3_s=2e-7)
    with jax.enable_x64(False):
        return eqx.filter_jit(lambda key: UnMixNet.of(settings, chamber, 3, key=key))(jax.random.key(0))


@pytest.fixture(scope="module")
def rollouts(drawn) -> dict[str, dict[str, np.ndarray]]:
    """The network at a tenth of the air and more, five steps, by two laws."""
    windows, found = np.random.default_rng(0).normal(size=(2, 6, 4)), {}
    with jax.enable_x64(False):
        model = at_amount(drawn, 5 * TYPICAL_MOL, 5.0)
        for form in ("exact", "unconstrained"):
            other = replace(model, settings=replace(model.settings, diffusion=form))
            found[form] = closure_scores._solved_all(other, windows, None)
    return found


@pytest.mark.soak
def test_rollouts_of_unmixnet_close_to_rounding(rollouts):
    found = rollouts["exact"]
    assert np.all(found["own"] < 1e-6) and np.all(found["mass"] < 1e-6)
    assert np.all(found["net"] < 1e-5 * found["moved"]) and np.all(found["moved"] > 0)


@pytest.mark.soak
def test_twin_an_unconstrained_flux_breaks_the_relation_and_the_balance_of_species_but_loses_no_moles(rollouts):
    found = rollouts["unconstrained"]
    assert np.all(found["own"] > 1e-5) and np.all(found["net"] > 1e-2 * found["moved"])
    assert np.all(found["mass"] < 1e-6), "whatever the law, moles are moved from cell to cell"


@pytest.mark.soak
def test_a_network_starts_at_the_amount_that_it_is_told_and_its_sensors_answer_as_before(drawn):
    shares = np.array([1.0, 0.0, 0.0], np.float32)
    with jax.enable_x64(False):
        told = at_amount(drawn, 1e-3, 60.0)
        before, after = (m.process(m.uninformed(), jnp.asarray(shares), duration_s=60.0) for m in (drawn, told))
    assert float(after.source.amount[0]) == pytest.approx(1e-3, rel=1e-5)
    held = 1e-3 / np.sum(drawn.chamber.volume_m3)
    np.testing.assert_allclose(after.surface.k_ads * held, before.surface.k_ads * CONCENTRATION, rtol=1e-5)
    np.testing.assert_allclose(after.surface.k_des, before.surface.k_des, rtol=1e-6)


# ---------------------------------------------------------------- scores


def test_no_flux_at_all_scores_one_and_the_truth_scores_zero():
    rng = np.random.default_rng(0)
    truth = CellStates(*(rng.normal(size=(3, 4, 5, 2)) for _ in range(3)))
    nothing = CellStates(*(np.zeros((3, 4, 5, 2)) for _ in range(3)))
    assert all(tally.value() == pytest.approx(1) for tally in state_tallies(nothing, truth).values())
    assert all(tally.value() == 0 for tally in state_tallies(truth, truth).values())
    half = replace(truth, flux=0.5 * truth.flux)
    assert state_tallies(half, truth)["flux RMSE"].value() == pytest.approx(0.5)


def test_a_row_has_the_mean_over_seeds_and_an_interval_over_recordings():
    tallies = [RatioTally([1.0, 3.0, 2.0], [1.0, 1.0, 1.0]), RatioTally([2.0, 4.0, 3.0], [1.0, 1.0, 1.0])]
    row = tally_row(("p", "s", "m", "net flux"), tallies, ["a", "b", "c"])
    assert (row.mean, row.seeds, row.n) == (2.5, 2, 3) and row.sd == pytest.approx(np.sqrt(0.5))
    assert 1 <= row.lo < 2 < row.hi <= 3
    joined = tallies[0].joined(tallies[1])
    assert joined.value() == pytest.approx(2.5) and joined.value(np.array([1, 0, 0, 0, 0, 0.0])) == 1


# ---------------------------------------------------------------- the studies


def test_the_ablation_has_every_variant_beside_nulls_in_every_study():
    for study in STUDIES["ablation"]:
        names = [variant.name for variant in study.variants]
        assert {"chance", "mean", "1-NN", "unmixnet", *(v.name for v in ABLATIONS)} <= set(names)
        assert len(names) == len(set(names))
        assert len(idle(study, Options())) == 1, "with or without fingerprint loss: one of them is the recipe"


@pytest.mark.parametrize("variant", ABLATIONS, ids=lambda variant: variant.name)
@pytest.mark.parametrize("study", STUDIES["ablation"], ids=lambda study: study.name)
def test_a_variant_changes_what_its_name_says_and_nothing_else(study, variant):
    plain, other = (config_of(study, v, Options()).model_dump() for v in (UNMIXNET, variant))
    changed = {f"{s}.{k}" for s, values in other.items() for k, value in values.items() if value != plain[s][k]}
    assert changed == set(variant.changes) or variant.name in idle(study, Options())


def test_weights_are_kept_where_states_are_compared():
    kept = {variant.name for variant in HIGH.variants if isinstance(variant, Network) and variant.keep}
    assert kept == {"unmixnet", *(variant.name for variant in ABLATIONS)}


def _fold(name: str) -> StudyFold:
    labels = [Mixture.from_parts(["apple"], [100.0])] * 3
    pieces = tuple(Piece(f"r{i}", label, f"s{i}") for i, label in enumerate(labels))
    data = Dataset(name, Path(name), (), ("apple", "clove"), lambda data, entry: None)
    return StudyFold("group 1", data, pieces[:2], {"smellnet-mixture:leave-support-out": pieces[2:]}, {})


def test_unmixnet_and_peers_of_the_ablation_are_those_of_the_table_so_that_a_work_folder_serves_both():
    ours, table = (
        next(study for study in STUDIES[command] if study.name == "leave-support-out")
        for command in ("ablation", "smellnet")
    )
    here, there = ({job.variant.name: job.place for job in fold_jobs(s, _fold("x"), Options())} for s in (ours, table))
    for name in ("chance", "mean", "1-NN", "ridge", "extra-trees", "unmixnet"):
        assert here[name] == there[name]
    assert here["fick"] != here["unmixnet"]


def test_only_high_coupling_networks_are_told_the_amount():
    assert bench_for(_fold("high-coupling")) is ConcentratedBench
    assert bench_for(_fold("simulated")) is bench_for(_fold("smellnet-mixture")) is NetworkBench


@pytest.mark.soak
def test_a_quick_ablation_has_every_column(tmp_path):
    from studies.ablation.ablation import gather_ablation
    from studies.harness.work import Work

    names = ("mean", "unmixnet", "fick", "no closure")
    study = replace(HIGH, variants=tuple(variant for variant in HIGH.variants if variant.name in names))
    result = gather_ablation("test", (study,), None, Work(tmp_path), Options(quick=True)).result
    assert result["missing"] == [] and result["failures"] == []
    found = {(row["model"], row["metric"]): row["mean"] for row in result["rows"] if row["level"] == "recording"}
    closed, open_ = found["unmixnet", "MS residual"], found["fick", "MS residual"]
    assert closed < 1e-5
    assert 100 * closed < open_
    coarse, fick = (found[name, "flux RMSE"] for name in ("true coefficients, 8 cells, 1 s", "the same with fick"))
    assert 0.05 < coarse < 0.3 and abs(coarse - fick) < 0.05, "eight cells cost more than the law"
    assert ("no closure", "MS residual") not in found and ("no closure", "MAE") in found
    linear = [row for row in result["coupling"] if row["law"] == "linear readout"]
    assert all(row["signal"] > 0.1 and row["flux"] == row["mass"] == 0 for row in linear) and linear
