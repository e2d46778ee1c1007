"""`reproduce uci`: the real plateaus and traces reach what the page claims; tables can be chosen and kept."""

import json

import numpy as np
import pytest

from studies.uci.command import gather_uci, reproduce_uci
from studies.uci.plateau_inverse import FORMS
from studies.uci.plateau_table import LAW, plateau_rows, run_law
from unmixnet.errors import ConfigError
from unmixnet.inference.scores import Row


@pytest.fixture(scope="module")
def uci_folder():
    import os
    from pathlib import Path

    chosen = os.environ.get("UNMIXNET_DATA")
    if not chosen or not (Path(chosen) / "uci322").is_dir():
        pytest.skip("needs the UCI excerpts: set UNMIXNET_DATA to a folder that holds uci322/")
    return Path(chosen)


@pytest.fixture(scope="module")
def done(uci_folder):
    """The choice among two laws only: the whole choice is a matter of minutes."""
    few = tuple(form for form in FORMS if form.name in ("Langmuir, warming", "Sips, power-law readout, warming"))
    return run_law(uci_folder, few)


@pytest.fixture(scope="module")
def scores(done):
    return plateau_rows(done, 1)


def test_real_plateaus_are_inferred_forward_in_time(scores):
    rows = {(r.level, r.split, r.metric): r.mean for r in scores if r.model == LAW}
    for level, methane, ethylene in (("settled plateau", 0.995, 0.99), ("any plateau", 0.98, 0.97)):
        assert rows[level, "methane", "R²"] >= methane
        assert rows[level, "ethylene", "R²"] >= ethylene
        assert rows[level, "both gases", "support accuracy"] >= 0.97


def test_both_counts_of_rows_are_given(scores):
    assert {(r.level, r.n) for r in scores} == {("settled plateau", 69), ("any plateau", 74)}


def test_the_fit_sees_only_the_first_seventy_percent(done):
    assert len(done.fitted) == 170
    assert done.fitted.start_s[-1] < done.rest.start_s[0]


def test_an_unknown_table_is_refused():
    with pytest.raises(ConfigError, match="no table 'plateau'"):
        next(reproduce_uci(None, only=("plateau",)))


@pytest.fixture
def made_up(monkeypatch):
    """Tables that cost nothing."""

    def tables(root, *, only, **options):
        for name in only:
            yield name, [Row(f"uci-{name}:x", "s", "l", "m", "R²", 0.5, 0.0, 0.4, 0.6, 9, 1)], {"told": name}

    monkeypatch.setattr("studies.uci.command.reproduce_uci", tables)


def test_the_file_grows_table_by_table(made_up):
    seen = []
    gather_uci(None, store=lambda result: seen.append(json.loads(json.dumps(result))))
    assert [len(result["rows"]) for result in seen] == [1, 2, 3]
    assert {"command", "commit", "date", "machine"} <= set(seen[0])


def test_finished_tables_are_kept_and_say_where_they_come_from(made_up):
    first = gather_uci(None, store=lambda result: None, only=("plateaus", "traces"))
    second = gather_uci(None, store=lambda result: None, kept=first)
    assert second["tables"] == ["plateaus", "traces", "dynamic"]
    assert second["earlier"][0]["tables"] == ["plateaus", "traces"]
    assert len(second["rows"]) == 3


def test_a_table_that_is_run_again_replaces_the_old_one(made_up):
    first = gather_uci(None, store=lambda result: None)
    again = gather_uci(None, store=lambda result: None, only=("traces",), kept=first)
    assert again["tables"] == ["plateaus", "dynamic", "traces"]
    assert len(again["rows"]) == 3


@pytest.mark.soak
def test_real_traces_are_forecast(uci_folder, measured):
    from studies.uci.trace_table import LAW as TRACE_LAW
    from studies.uci.trace_table import digitised_forecast, hundred_hertz_forecast, trace_rows

    for make in (hundred_hertz_forecast, digitised_forecast):
        rows = [r for r in trace_rows(make(uci_folder)) if r.metric == "RMSE / range of the trace"]
        ours = np.array([r.mean for r in rows if r.model == TRACE_LAW])
        lag = np.array([r.mean for r in rows if r.model == "linear lag"])
        measured(f"RMSE / range of the trace, {rows[0].split.split(',')[0]}", float(ours.max()))
        assert np.all(ours <= 0.1)
        assert np.all(ours < lag)
