"""Numbers in the documentation are those of the stored results; names in it are those of the code."""

import json
import re
from dataclasses import asdict

import pytest

import unmixnet
from studies.novelty.novelty import NoveltyRow
from studies.simulator.coefficients import CoefficientError
from studies.states.state_scores import StateScore
from studies.tables.__main__ import LATER, PAGES, ROOT, filled
from tests.pages.page_text import PAGES as SAID
from unmixnet.files.provenance import provenance
from unmixnet.inference.scores import Row
from unmixnet.training import losses


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_table_is_made_from_the_stored_results(path):
    page = path.read_text(encoding="utf-8")
    assert filled(page) == page, "run `python -m studies.tables`"


def test_a_number_changed_by_hand_would_be_noticed():
    page = (ROOT / "docs" / "recordings.md").read_text(encoding="utf-8")
    changed = page.replace("| damaged copies of real files |", "| damaged |")
    assert changed != page
    assert filled(changed) == page


# ---------------------------------------------------------------- tables of results that may still be missing


def stored(folder, name: str, **values) -> None:
    (folder / f"{name}.json").write_text(json.dumps(provenance("made up", **values)))


def table(name: str) -> str:
    return f"<!-- table {name} -->\n<!-- end -->\n"


def row(protocol: str, model: str, mean: float, metric: str = "MAE", level: str = "recording", seeds: int = 1) -> dict:
    return asdict(Row(protocol, "any", level, model, metric, mean, 0.0011, mean / 2, 2 * mean, 36, seeds))


@pytest.fixture
def simulated(tmp_path):
    """A study of two models on four sensors, in the form in which `python -m studies simulated` stores it."""
    learned = {
        "states R²": [
            asdict(StateScore("simulated:seen", q, 0.5, 0.875, 36)) for q in ("concentration", "flux", "coverage")
        ],
        "coefficients": [asdict(CoefficientError("k_des", 48, 0.02, 0.5))],
    }
    clean = {"name": "k_des", "entries": 48, "identifiable": 40, "worst identifiable error": 0.031}
    coherence = {"mu_raw": 0.98765, "mu_whitened": 0.9, "guaranteed": 1, "confusable": [["clove", "mango", 0.91]]}
    stored(
        tmp_path,
        "simulated",
        rows=[
            row("simulated:seen", "mean", 0.1, seeds=3),
            row("simulated:seen", "Cramér–Rao bound, support known", 0.01),
            row("simulated:seen", "unmixnet", 0.02),
            row("simulated:seen", "unmixnet", 0.7, level="window"),
        ],
        studies={"simulated": {"coherence": coherence, "unmixnet": [learned]}},
        missing=["simulated: ldac"],
        **{"recovery from clean data": {"combinations": [clean], "untold directions": 16}},
    )
    return tmp_path


def test_scores_of_simulated_recordings_have_intervals_and_the_bound_stands_last(simulated):
    lines = [line for line in filled(table("simulated:scores"), simulated).splitlines() if line.startswith("| ")]
    assert lines[1] == "| mean | 0.1000 ± 0.0011 [0.0500, 0.2000] |  |  |  |"
    assert lines[2] == "| unmixnet | **0.0200** [0.0100, 0.0400] |  |  |  |"
    assert lines[3].startswith("| Cramér–Rao bound, support known | 0.0100 ")


@pytest.mark.parametrize(
    ("part", "shows"),
    [
        ("coherence", "| simulated | 0.9877 | 0.9000 | 1 component(s) | clove–mango (0.91) |"),
        ("states", "| simulated:seen | 0.500 (0.875) | 0.500 (0.875) | 0.500 (0.875) |"),
        ("coefficients", "| k_des | 40 of 48 | 3.1 % | 2 % | 50 % |"),
        ("coefficients", "Directions that no recording determines: 16."),
        ("scores", "Not finished: simulated: ldac."),
    ],
)
def test_below_the_scores_stands_what_only_a_simulation_shows(simulated, part, shows):
    assert shows in filled(table(f"simulated:{part}"), simulated).splitlines()


def test_smellnet_shows_recordings_and_windows_beside_each_other(tmp_path):
    protocol = "smellnet-mixture:clean:seen"
    stored(
        tmp_path, "smellnet", quick=True, rows=[row(protocol, "mean", 0.1), row(protocol, "mean", 0.2, level="window")]
    )
    page = filled(table(f"smellnet:{protocol}"), tmp_path)
    assert "| mean | 0.100 [0.050, 0.200] | 0.200 |" in page
    assert "not how well" in page


def test_ours_stand_beside_the_null_and_the_best_of_the_others(tmp_path):
    def row(model, mean, level="recording", metric="MAE"):
        return {"protocol": "new", "level": level, "metric": metric, "model": model, "mean": mean}

    def pair(other, mean, level="recording"):
        told = {"mean": mean, "lo": -0.03, "hi": 0.01, "p": 0.25, "n": 22}
        return {"protocol": "new", "level": level, "model": "unmixnet", "other": other, **told}

    errors = [row("mean", 0.14), row("ridge", 0.12), row("trees", 0.11), row("unmixnet", 0.1)]
    named = [
        row(model, mean, "window", "Acc@1") for model, mean in (("chance", 0.02), ("trees", 0.6), ("unmixnet", 0.1))
    ]
    hidden = [row("unmixnet", 0.3, level="window"), row("mean", 0.2, metric="cosine")]
    pairs = [pair("trees", -0.01), pair("ridge", -0.02), pair("chance", 0.08, "window")]
    stored(tmp_path, "smellnet", rows=[*errors, *named, *hidden], pairs=pairs)
    lines = [line for line in filled(table("smellnet:pairs"), tmp_path).splitlines() if line.startswith("| new")]
    assert lines == [
        "| new | MAE, recording | 0.140 | unmixnet 0.100 | trees 0.110 | -0.010 [-0.030, +0.010] | 0.250 | 22 |",
        "| new | Acc@1, window | 0.020 | unmixnet 0.100 | trees 0.600 | not run together |  |  |",
    ]


def test_a_training_step_shows_its_shares(tmp_path):
    stored(
        tmp_path,
        "training",
        problem={"batch": 32, "odorants": 12, "window_s": 30.0, "size": "small", "float": 32},
        seconds={"encoder, forward": 0.0123},
        memory_bytes={"encoder, forward": 45.6e6},
        shares={"encoder": 0.4, "solver forward": 0.2, "solver backward": 0.4},
        closed_loop_over_encoder=2.5,
    )
    page = filled(table("training"), tmp_path)
    assert "| encoder, forward | 12.3 | 45.6 |" in page
    assert "encoder 40 %, solver forward 20 %, solver backward 40 %. The closed loop costs 2.50 times" in page


def test_novelty_shows_what_is_found_beside_false_alarms(tmp_path):
    found = NoveltyRow("simulated", "clove", "novelty", 60, 10, 0.9, 0.8, 0.95, None, 0.05, 0.7)
    stored(tmp_path, "novelty", rows=[asdict(found)])
    shown = "| simulated | clove | novelty | 60 / 10 | 0.900 [0.800, 0.950] |  | 5 % | 70 % |"
    assert shown in filled(table("novelty"), tmp_path)


@pytest.mark.parametrize("name", ["simulated:scores", "smellnet:smellnet-base:official", "training", "novelty"])
def test_what_is_not_measured_says_so_and_how_to_measure_it(name, tmp_path):
    page = filled(table(name), tmp_path)
    assert f"Not measured yet: run `{LATER[name.split(':')[0]]}`." in page


def test_twin_a_result_that_was_measured_may_not_disappear(tmp_path):
    with pytest.raises(FileNotFoundError):
        filled(table("reader"), tmp_path)


# ---------------------------------------------------------------- names

SOURCES = ROOT / "src" / "unmixnet"


def lost(table: str) -> list[str]:
    """Names in rows of a table that the file of the row does not have."""
    found = []
    for row in (line for line in table.splitlines() if line.startswith("|") and ".py`" in line):
        *_, code, files = row.replace("\\|", "").strip("| ").split(" | ")
        text = "".join((SOURCES / name).read_text() for name in re.findall(r"`([^`]+\.py)`", files))
        names = [part for name in re.findall(r"`([^`]+)`", code) for part in name.split(".")]
        found += [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)]
    return found


def chapters(*titles: str) -> str:
    parts = re.split(r"^## ", (ROOT / "docs" / "notation.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return "".join(part for part in parts if part.splitlines()[0] in titles)


def test_every_name_of_the_notation_stands_in_its_file():
    assert lost(chapters("Model", "Objective")) == []


def test_twin_a_name_that_was_changed_would_be_missed():
    assert lost(chapters("Objective").replace("`flux_loss`", "`flow_loss`")) == ["flow_loss"]


@pytest.mark.parametrize("folder", ["physics", "model"])
def test_the_notation_names_every_file_of_a_folder_and_no_other(folder):
    page = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    files = {f"{folder}/{path.name}" for path in (SOURCES / folder).glob("*.py")} - {f"{folder}/__init__.py"}
    assert files == set(re.findall(rf"`({folder}/\w+\.py)`", page))


def losses_without_a_row(table: str) -> set[str]:
    """Public names of the objective that a table does not have."""
    return {name for name in losses.__all__ if f"`{name}`" not in table}


def test_the_notation_has_a_row_for_every_term_of_the_objective():
    assert losses_without_a_row(chapters("Objective")) == set()


def test_twin_a_term_without_a_row_would_be_missed():
    assert losses_without_a_row(chapters("Objective").replace("`flux_loss`", "")) == {"flux_loss"}


# ---------------------------------------------------------------- files and modules


def missing(page: str) -> list[str]:
    """Files of the repository and modules that a page names and that are not there."""
    paths = re.findall(r"(?<![\w./-])(?:src|tests|studies|docs|examples|firmware)/[a-z_][\w/.-]*\w", page)
    modules = re.findall(r"(?:from |import |`)(unmixnet(?:\.[a-z_]+)+)(?![\w/-])", page)
    lost = [path for path in paths if not (ROOT / path).exists()]
    return lost + [name for name in modules if not _module_exists(name)]


def _module_exists(name: str) -> bool:
    place = SOURCES.parent.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file() or name.removeprefix("unmixnet.") in unmixnet.__all__


@pytest.mark.parametrize("path", SAID, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_modules_that_a_page_names_are_there(path):
    assert missing(path.read_text(encoding="utf-8")) == []


def test_twin_a_file_or_module_that_moved_is_noticed():
    here = "`tests/test_docs.py`, `studies/NAME`, `unmixnet.model`, `unmixnet.simulate` and `unmixnet.errors` are there"
    page = f"`tests/data/test_coherence.py` and `unmixnet.data.reader` are not; {here}"
    assert missing(page) == ["tests/data/test_coherence.py", "unmixnet.data.reader"]
