"""Every figure is drawn from small made-up records: axes have labels, captions count, names are checked."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from studies.__main__ import app
from studies.figures.abstention import abstention_caption, abstention_record, draw_abstention
from studies.figures.confusion import confusion_caption, confusion_record, draw_confusion, worst_pairs
from studies.figures.diagrams import draw_blocks, draw_overview
from studies.figures.drift import binned, draw_drift, drift_caption
from studies.figures.gallery import FIGURES, chosen_figures
from studies.figures.reconstruction import MODELS, draw_reconstruction, reconstruction_caption, reconstruction_record
from studies.figures.shares import (
    chance_hit,
    draw_fingerprints,
    draw_shares,
    fingerprint_caption,
    hits_by_number,
    shares_caption,
)
from studies.figures.stored import AnswerTable
from studies.tables.figures import failures_part, figures_part
from unmixnet.errors import ConfigError
from unmixnet.files.provenance import provenance

K = 5
NAMES = [f"food {i}" for i in range(K)]
OURS, PEER = "unmixnet, steady state", "extra-trees"


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def _table(n: int = 40) -> AnswerTable:
    rng = np.random.default_rng(0)
    truth = np.zeros((n, K))
    for i, row in enumerate(truth):
        row[rng.choice(K, 1 + i % 3, replace=False)] = 1 / (1 + i % 3)
    noisy = rng.dirichlet(np.ones(K), (2, n))
    supports = tuple("+".join(map(str, np.flatnonzero(row))) for row in truth)
    guesses = {OURS: 0.5 * (truth + noisy), PEER: 0.7 * truth + 0.3 * noisy, "mean": np.full((1, n, K), 1 / K)}
    return AnswerTable("leave-support-out", tuple(map(str, range(n))), supports, truth, guesses)


def _prints() -> dict:
    W = np.random.default_rng(1).normal(size=(12, K))
    unit = W / np.linalg.norm(W, axis=0)
    cosine = unit.T @ unit
    away = np.linalg.norm(W[:, :, None] - W[:, None], axis=0)
    return {
        "components": NAMES,
        "channels": ["a", "b"],
        "recordings": [4] * K,
        "raw": np.abs(cosine).tolist(),
        "whitened": np.where(np.eye(K) > 0, 1, 0.85 + 0.14 * np.abs(cosine)).tolist(),
        "cosine": cosine.tolist(),
        "distance": away.tolist(),
        "map": W[:2].T.tolist(),
        "variance": [0.6, 0.3, 0.1],
        "mu_raw": 0.9,
        "mu_whitened": 0.95,
        "guaranteed": 1,
    }


def _drift() -> dict:
    rng, n = np.random.default_rng(2), 30
    errors = {model: rng.uniform(0.05, 0.2, n) for model in (OURS, PEER, "mean")}
    nearest, drift = rng.uniform(size=n), np.where(np.arange(n) % 4, rng.uniform(size=n), np.nan)
    told = {"rho": 0.2, "lo": -0.1, "hi": 0.4, "p": None, "n": n, "near_third": 0.1, "far_third": 0.2}
    sessions = [
        {"session": str(s), "recordings": 10, "supports": 2, "nearest": 0.2, "drift": None if s == 1 else 0.3,
         "errors": {model: float(error[10 * s : 10 * s + 10].mean()) for model, error in errors.items()}}
        for s in range(3)
    ]  # fmt: skip
    return {
        "rows": [{"model": model, "by": by, **told} for model in errors for by in ("nearest", "drift")],
        "sessions": sessions,
        "recordings": {
            "session": [str(i // 10) for i in range(n)],
            "nearest": nearest.tolist(),
            "drift": [None if np.isnan(x) else x for x in drift],
            "errors": {model: error.tolist() for model, error in errors.items()},
        },
    }


def _doubts(n: int = 24) -> dict:
    error = np.random.default_rng(3).uniform(size=n)
    scores = {"novelty": error.tolist(), "windows disagree": (-error).tolist()}
    recipes = [str(i % 6) for i in range(n)]
    return {"scores": scores, "withheld": [i == 0 for i in range(n)], "error": error.tolist(), "recipes": recipes}


@pytest.fixture(scope="module")
def record() -> dict:
    prints = _prints()
    mates = np.random.default_rng(4).uniform(size=(K, K))
    found = {"bundle": "made-up", "digest": "0" * 64, "splits": {"seen": _doubts(), "unseen": _doubts(9)}}
    unknown = {"substance": "food 1", "unknown": 3, "known": 4, "auroc": 0.5, "lo": 0.2, "hi": 0.8}
    made = provenance("python -m studies figures") | {
        "fingerprints": prints,
        "confusion": confusion_record({"leave-support-out": _table()}, NAMES, prints, 0.5 * (mates + mates.T)),
        "drift": {"leave-session-out": _drift()},
        "abstention": abstention_record(found),
        "unknown": [{**unknown, "found": 0.1, "false_alarms": 0.0}],
    }
    return json.loads(json.dumps(made, allow_nan=False))


@pytest.fixture(scope="module")
def rebuilt() -> dict:
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(9, 7, 2))
    made = {name: Y + 0.1 * (k + 1) * np.arange(1, 10)[:, None, None] for k, name in enumerate(MODELS)}
    labels = [f"mixture {r}" for r in range(9)]
    about = {"channels": ["a", "b"], "unmixnet": "made-up weights", "adr_gnn_epochs": 3}
    return about | reconstruction_record(Y, made, np.arange(9), labels, np.arange(7.0))


def _unlabelled(figure: Figure) -> list[str]:
    """Panels that do not say what goes to the right (or leave it to the one below), or what goes up."""
    figure.draw_without_rendering()
    found = []
    for i, ax in enumerate(figure.axes):
        if not ax.get_visible() or ax.get_label() == "<colorbar>":
            continue
        right, up = ([tick.label1 for tick in axis.get_major_ticks()] for axis in (ax.xaxis, ax.yaxis))
        below = not any(label.get_visible() for label in right)
        named = any(letter.isalpha() for label in up for letter in label.get_text())
        found += [] if ax.get_xlabel() or below else [f"panel {i}: to the right"]
        found += [] if ax.get_ylabel() or named else [f"panel {i}: up"]
    return found


@pytest.mark.parametrize("draw", [draw_confusion, draw_drift, draw_abstention])
def test_a_figure_of_failures_has_labelled_axes(draw, record):
    assert _unlabelled(draw(record)) == []


def test_fingerprints_shares_and_reconstruction_have_labelled_axes(record, rebuilt):
    assert _unlabelled(draw_fingerprints(record["fingerprints"])) == []
    assert _unlabelled(draw_shares({"one": _table(), "two": _table()})) == []
    assert _unlabelled(draw_reconstruction(rebuilt)) == []


def test_twin_a_panel_without_labels_is_noticed():
    figure = plt.figure()
    figure.add_subplot().plot([0, 1])
    assert _unlabelled(figure) == ["panel 0: to the right", "panel 0: up"]


@pytest.mark.parametrize("draw", [draw_overview, draw_blocks])
def test_no_word_of_a_diagram_leaves_it_and_none_covers_another(draw):
    figure = draw()
    figure.draw_without_rendering()
    whole = figure.axes[0].get_window_extent()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text().strip()]
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)
    crossing = [(i, j) for i, a in enumerate(boxes) for j, b in enumerate(boxes[:i]) if a.overlaps(b)]
    told = [text.get_text() for text in figure.axes[0].texts if text.get_text().strip()]
    assert crossing == [], [(told[i], told[j]) for i, j in crossing]


def test_captions_count_the_recordings_and_say_what_would_change_the_claim(record, rebuilt):
    captions = {
        40: confusion_caption(record),
        30: drift_caption(record),
        24: abstention_caption(record),
        9: reconstruction_caption(rebuilt),
        20: fingerprint_caption(record["fingerprints"]),
    }
    captions[41] = shares_caption({"one": _table(41)})
    for count, caption in captions.items():
        assert str(count) in caption.shows and caption.change


def test_the_recording_that_is_drawn_is_the_median_one_and_not_the_best(rebuilt):
    assert rebuilt["label"] == "mixture 4"
    rms = {name: np.mean(values) for name, values in rebuilt["rms_recordings"].items()}
    assert sorted(rms, key=rms.__getitem__) == list(MODELS)


def test_random_orders_find_the_share_of_the_support_that_chance_says():
    rng, table = np.random.default_rng(0), _table(600)
    noise = AnswerTable("p", table.recordings, table.supports, table.truth, {PEER: rng.uniform(size=(1, 600, K))})
    for count, (value, lo, hi, n) in hits_by_number(noise, PEER).items():
        assert n == 200 and lo <= value <= hi
        assert value == pytest.approx(chance_hit(count, K), abs=0.1)
    right = AnswerTable("p", table.recordings, table.supports, table.truth, {PEER: table.truth[None]})
    assert all(value == 1 for value, *_ in hits_by_number(right, PEER).values())


def test_bins_hold_every_known_recording_once():
    x, error = np.array([3.0, np.nan, 1.0, 2.0, 4.0]), np.array([0.3, 9.0, 0.1, 0.2, 0.4])
    middle, mean, _ = binned(x, error, 2)
    assert middle == pytest.approx([1.5, 3.5]) and mean == pytest.approx([0.15, 0.35])


def test_worst_pairs_come_worst_first(record):
    shares = [pair["share"] for pair in worst_pairs(record, 4)]
    assert shares == sorted(shares, reverse=True) and len(shares) == 4


def test_tables_of_the_page_are_filled_and_have_as_many_cells_as_columns(record):
    for part in ("pairs", "foretold", "sessions", "distance", "verdicts", "scores", "unknown"):
        lines = [line for line in failures_part(record, part) if line.startswith("|")]
        assert len(lines) > 2 and len({line.replace("\\|", "").count("|") for line in lines}) == 1, part


def test_a_caption_of_the_page_names_its_picture(record):
    told = provenance("x", captions={"overview": {"title": "A?", "shows": "|a|", "change": "c"}})
    assert figures_part(told, "overview")[:3:2] == ["![A?](img/fig_overview.png)", "**A?** |a|"]


def test_failures_means_all_of_them_and_an_unknown_figure_is_refused():
    assert chosen_figures(()) == tuple(FIGURES)
    assert chosen_figures(("failures",)) == ("failures_confusion", "failures_drift", "failures_abstention")
    with pytest.raises(ConfigError, match="dreams"):
        chosen_figures(("dreams",))


def test_the_command_writes_a_picture_and_its_caption(tmp_path):
    done = CliRunner().invoke(app, ["figures", "--only", "blocks", "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "fig_blocks.png").read_bytes().startswith(b"\x89PNG")
    assert "blocks" in json.loads((tmp_path / "fig_captions.json").read_text())
    assert json.loads(done.stdout)["captions"]["blocks"]["title"]
