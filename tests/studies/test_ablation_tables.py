"""Tables of ablation and efficiency: what is shown is what was stored, and what is lacking is said."""

import json

import pytest

from studies.tables.__main__ import filled
from unmixnet.files.provenance import provenance

ROW = {"split": "test", "level": "recording", "sd": 0.01, "lo": 0.1, "hi": 0.2, "n": 5, "seeds": 3}


def page(tmp_path, name: str, **record) -> str:
    path = tmp_path / f"{name.split(':')[0]}.json"
    path.write_text(json.dumps(provenance("python -m studies it", **record)))
    return filled(f"<!-- table {name} -->\n<!-- end -->", tmp_path)


def score(model: str, protocol: str, metric: str, mean: float) -> dict:
    return {**ROW, "model": model, "protocol": protocol, "metric": metric, "mean": mean}


@pytest.fixture
def ablation() -> dict:
    place = "high-coupling:unseen"
    rows = [
        score("mean", place, "MAE", 0.05),
        score("unmixnet", place, "MAE", 0.061),
        score("fick", place, "MAE", 0.072),
        score("fick (committee)", place, "MAE", 0.01),
        score("unmixnet", place, "MS residual", 3e-7),
        score("fick", place, "MS residual", 0.02),
        score("unmixnet", "smellnet-mixture:clean:unseen", "mass error", 1e-7),
    ]
    laws = [
        {"case": "air", "fraction": f, "law": "fick", "signal": f / 10, "flux": f / 2 if f < 0.1 else 0.0}
        for f in (1e-6, 1e-5, 1e-4, 0.3)
    ]
    models = {"mean": "windows; their mean", "unmixnet": "", "fick": "model.diffusion = fick"}
    idle = {"high-coupling": ["no fingerprint loss"], "clean": []}
    return {
        "rows": rows,
        "coupling": laws,
        "models": models,
        "idle": idle,
        "missing": ["clean: fick", "clean: no closure"],
    }


def test_scores_mark_the_best_network_and_say_what_is_not_run_yet(tmp_path, ablation):
    text = page(tmp_path, "ablation:scores", **ablation)
    assert "| unmixnet | **0.061** ± 0.010 |" in text and "| fick | 0.072 ± 0.010 |" in text
    assert "| mean | 0.050 ± 0.010 |" in text, "a null is not bold, however good"
    assert "committee" not in text, "rules are compared one training with another"
    assert "Not run yet: leave-support-out, clean unseen, high coupling, seen." in text
    assert "no fingerprint loss: what the recipe of high-coupling does anyway" in text
    assert "Not finished on clean: fick, no closure." in text


def test_closure_shows_rounding_as_such(tmp_path, ablation):
    text = page(tmp_path, "ablation:closure", **ablation)
    assert "| high coupling, unseen | unmixnet |  |  | 3e-07 |" in text and "0.020 ± 0.010" in text
    assert "| clean unseen | unmixnet |" in text


def test_laws_are_shown_at_chosen_fractions(tmp_path, ablation):
    text = page(tmp_path, "ablation:coupling", **ablation)
    assert "| air | fick | 1e-07 / 5e-07 | 1e-05 / 5e-05 | 3e-02 / 0 |" in text and "Not finished" not in text


def test_the_papers_numbers_stand_beside(tmp_path, ablation):
    assert "| fick | .124 |" in page(tmp_path, "ablation:paper", **ablation)


@pytest.fixture
def efficiency() -> dict:
    nothing = {"epoch_s": None, "latency_ms": None, "throughput": None, "buffers_MB": None}
    usual = {"kind": "network", "size": "small", "parameters": 1234, "epoch_s": 2.0, "latency_ms": 4.0,
             "throughput": 600.0, "buffers_MB": 1.0, "resident_MB": 90.0, "detail": "", "over_unmixnet": nothing,
             "over_adr_gnn": {**nothing, "latency_ms": 0.5}}  # fmt: skip
    direct = {
        "name": "direct inverse",
        "kind": "inverse",
        "throughput": 2.0,
        "parameters": None,
        "detail": "32 windows",
    }
    rows = [
        {**usual, "name": "unmixnet, answer"},
        {**usual, "name": "unmixnet, answer and states", "throughput": 100.0},
        {**usual, **direct},
    ]
    errors = {"unmixnet": {"smellnet-mixture:clean:unseen": 0.12}, "direct inverse": {}}
    return {"rows": rows, "errors": errors, "load_before": 9.0}


def test_costs_and_ratios_are_those_stored(tmp_path, efficiency):
    text = page(tmp_path, "efficiency:costs", **efficiency)
    assert "| unmixnet, answer (`small`) | 1,234 | 2 | 4 | 600 | 1 | 90 |" in text
    assert "busy (load 9)" in text
    assert "| 0.5 |" in page(tmp_path, "efficiency:ratios", **efficiency)


def test_the_direct_inverse_stands_beside_both_answers_with_its_error(tmp_path, efficiency):
    text = page(tmp_path, "efficiency:inverse", **efficiency)
    assert "| unmixnet, answer | 300× | 0.120 |" in text and "| unmixnet, answer and states | 50× | 0.120 |" in text
    assert "| direct inverse (32 windows) | 1× |  |" in text


@pytest.mark.parametrize("name", ["ablation:scores", "efficiency:costs"])
def test_what_is_not_measured_says_how(name, tmp_path):
    text = filled(f"<!-- table {name} -->\n<!-- end -->", tmp_path)
    assert f"run `python -m studies {name.split(':')[0]}`" in text
