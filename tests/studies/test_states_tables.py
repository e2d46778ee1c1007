"""From a world to rows and from rows to tables: the reference scores zero, nulls stand beside it, gaps are named."""

from dataclasses import asdict

import numpy as np
import pytest

from studies.harness.definitions import StudyFold
from studies.states.gather import MODELS, PROTOCOLS, _state_rows, study_of
from studies.states.judge import judge_nulls
from studies.states.physical import PhysicalStates
from studies.states.worlds import StateWorld
from studies.tables.states import states_part
from unmixnet.errors import ConfigError
from unmixnet.files.provenance import provenance
from unmixnet.inference.scores import Row
from unmixnet.recordings.datasets import Dataset
from unmixnet.recordings.pieces import Piece
from unmixnet.recordings.recording import Mixture

FOODS = ("clove", "mango", "peach")


def _pieces(folder: str, n: int) -> tuple[Piece, ...]:
    labels = [Mixture.from_parts([FOODS[i % 3], FOODS[(i + 1) % 3]], [40 + i, 60 - i]) for i in range(n)]
    return tuple(Piece(f"{folder}/{i}", label, str(i % 4)) for i, label in enumerate(labels))


def _states(ratios: np.ndarray) -> PhysicalStates:
    """Every state is the recipe, rising in time."""
    rise = np.linspace(0.5, 1, 5)[None, :, None] * ratios[:, None]
    placed = lambda places: np.repeat(rise[:, :, None], places, axis=2)  # noqa: E731
    return PhysicalStates(placed(4), placed(3), placed(2), rise, np.array([2, 3]))


@pytest.fixture(scope="module")
def world() -> StateWorld:
    train, tests = _pieces("train", 40), {p: _pieces(p, 9) for p in PROTOCOLS}
    data = Dataset("made up", None, (), FOODS, lambda data, entry: None)  # pyright: ignore[reportArgumentType]
    fold = StudyFold("all", data, train, tests, dict.fromkeys(PROTOCOLS, "some"))
    pieces = [*train, *(piece for side in tests.values() for piece in side)]
    ratios = np.array([piece.label.vector(FOODS) for piece in pieces if piece.label])
    place = {piece.path: i for i, piece in enumerate(pieces)}
    return StateWorld("sips", fold, _states(ratios), place, ratios, None, False, _states)


@pytest.fixture(scope="module")
def rows(world) -> dict[tuple[str, str, str], Row]:
    truth = {p: world.shares[world.rows(pieces)] for p, pieces in world.fold.tests.items()}
    verdict = judge_nulls(world, 0.2, {"oracle": truth, "blind": {p: 0 * a for p, a in truth.items()}})
    made = [row for name, one in verdict.items() for row in _state_rows(world, name, [one])]
    return {(row.protocol, row.model, row.metric): row for row in made}


@pytest.mark.parametrize("what", ["RMSE C", "RMSE J", "RMSE θ", "RMSE M"])
def test_the_reference_scores_zero_and_so_does_its_simulator_with_the_right_recipe(rows, what):
    for model in ("reference", "oracle + simulator"):
        assert rows["states:sips:seen", model, what].mean < 1e-12
    assert rows["states:sips:seen", "blind + simulator", what].mean == pytest.approx(1, abs=0.1)
    assert 0 < rows["states:sips:seen", "mean state", "RMSE C"].mean < 1


def test_new_mixtures_are_resampled_by_support(rows):
    assert rows["states:sips:seen", "mean state", "RMSE C"].n == 9
    assert rows["states:sips:unseen", "mean state", "RMSE C"].n == 3


def test_another_graph_has_no_residuals(rows):
    assert not [key for key in rows if key[2] in ("MS residual", "mass error")]


def test_every_study_has_its_nulls_and_an_unknown_model_is_refused():
    assert [one.name for one in study_of("real", ["mlp"]).variants] == ["mean", "1-NN", "extra-trees", "mlp"]
    assert len(study_of("real").variants) == len(MODELS)
    with pytest.raises(ConfigError, match="no model 'dreams'"):
        study_of("real", ["dreams"])


def test_a_table_shows_the_best_in_bold_and_the_floor_apart(rows):
    kept = [asdict(row) for row in rows.values()]
    told = {"recordings": dict.fromkeys(PROTOCOLS, 9), "training": 40}
    record = provenance("python -m studies states", rows=kept, worlds={"sips": told}, missing=["sips: mlp"])
    lines = states_part(record, "sips/unseen")
    (reference,) = [line for line in lines if line.startswith("| reference")]
    (oracle,) = [line for line in lines if line.startswith("| oracle")]
    assert "**" not in reference
    assert "**0.000** [0.000, 0.000]" in oracle
    assert any("(3 supports)" in line for line in lines)
    assert lines[-1].endswith("Not finished: sips: mlp.")
    assert "not in this run" in states_part(record, "real/recipes")[0]
