"""Efficiency: every model is measured alike, ratios are those of the numbers beside them."""

import json
import subprocess
import sys
from dataclasses import replace

import jax
import pytest

from studies.efficiency.case import Case, measure, median_s
from studies.efficiency.efficiency import cases, errors_of, with_ratios
from studies.harness.variants import BASELINES


def row(name: str, size: str, **numbers: float | None) -> dict:
    usual = {"epoch_s": 2.0, "latency_ms": 4.0, "throughput": 100.0, "buffers_MB": 1.0}
    return {"name": name, "size": size, **usual, **numbers}


def test_every_network_is_measured_in_both_sizes_unmixnet_with_and_without_its_solver():
    names = [(name, case.size) for name, case in cases()]
    networks = {variant.name for variant in BASELINES} | {"unmixnet, answer", "unmixnet, answer and states"}
    assert {(name, size) for name in networks for size in ("small", "paper")} <= set(names)
    assert ("direct inverse", "small") in names and len(names) == len(set(names))
    assert all(case.repeats >= 200 for _, case in cases())


def test_ratios_are_to_the_small_answer_and_to_adr_gnn_of_the_same_size():
    rows = with_ratios(
        [
            row("adr-gnn", "small", latency_ms=8.0),
            row("adr-gnn", "paper", latency_ms=40.0),
            row("unmixnet, answer", "small"),
            row("unmixnet, answer", "paper", latency_ms=20.0),
            row("ridge", "", buffers_MB=None),
        ]
    )
    by = {(r["name"], r["size"]): r for r in rows}
    assert by["unmixnet, answer", "small"]["over_unmixnet"]["latency_ms"] == 1
    assert by["unmixnet, answer", "small"]["over_adr_gnn"]["latency_ms"] == 0.5
    assert by["unmixnet, answer", "paper"]["over_adr_gnn"]["latency_ms"] == 0.5
    assert by["unmixnet, answer", "paper"]["over_unmixnet"]["latency_ms"] == 5
    assert by["ridge", ""]["over_unmixnet"]["buffers_MB"] is None
    assert by["ridge", ""]["over_adr_gnn"]["latency_ms"] == 0.5


def test_errors_stand_beside_costs_only_where_mixtures_are_new(tmp_path):
    stored = tmp_path / "smellnet.json"
    about = {"metric": "MAE", "level": "recording", "model": "mlp"}
    rows = [
        {**about, "protocol": "smellnet-mixture:clean:unseen", "mean": 0.12},
        {**about, "protocol": "smellnet-mixture:clean:seen", "mean": 0.01},
        {**about, "protocol": "smellnet-mixture:clean:unseen", "level": "window", "mean": 0.5},
    ]
    stored.write_text(json.dumps({"rows": rows}))
    assert errors_of(stored) == {"mlp": {"smellnet-mixture:clean:unseen": 0.12}}
    assert errors_of(tmp_path / "none.json") == {}


@pytest.fixture(scope="module")
def mlp():
    with jax.enable_x64(False):
        return {repeats: measure(Case("network", "mlp", "small", repeats, 64)) for repeats in (5,)}[5]


def test_a_network_has_every_number(mlp):
    assert mlp.parameters > 1000 and mlp.buffers_MB > 4 * mlp.parameters / 1e6
    assert mlp.latency_ms > 0 and mlp.throughput > 0 and mlp.epoch_s > 0 and mlp.resident_MB >= 0


def test_a_median_leaves_out_the_first_call_and_one_that_was_disturbed(monkeypatch):
    pauses = iter([100.0, 1.0, 1.0, 50.0, 1.0, 1.0])
    now = [0.0]
    monkeypatch.setattr("studies.efficiency.case.time.perf_counter", lambda: now[0])

    def run() -> int:
        now[0] += next(pauses)
        return 0

    assert median_s(run, 5) == 1.0


@pytest.mark.parametrize("kind", [pytest.param("network", marks=pytest.mark.soak), "states"])
def test_the_answer_alone_needs_no_solver(kind, monkeypatch):
    """With a solver that cannot run, the ratios still come and the states do not."""
    from unmixnet.model.unmixnet import UnMixNet

    def broken(*_, **__):
        raise RuntimeError("the solver was asked")

    monkeypatch.setattr(UnMixNet, "reconstruct_all", broken)
    monkeypatch.setattr("studies.efficiency.case._epoch_s", lambda *_: 0.0)
    case = Case(kind, "unmixnet", "small", 1, 64)
    with jax.enable_x64(False):
        if kind == "network":
            assert measure(replace(case)).latency_ms > 0
        else:
            with pytest.raises(RuntimeError, match="solver was asked"):
                measure(case)


@pytest.mark.soak
def test_the_quick_run_prints_one_object_with_every_kind():
    done = subprocess.run(
        [sys.executable, "-m", "studies", "efficiency", "--quick", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["quick"] and {row["kind"] for row in found["rows"]} == {"network", "states", "peer", "inverse"}
    assert all(row["throughput"] > 0 for row in found["rows"])
