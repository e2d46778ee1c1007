"""Tables of what the evidence costs, and the paper's table of SmellNet: what is shown follows from what was stored."""

import json

import pytest

from studies.tables.__main__ import filled
from studies.tables.markdown import made_by
from unmixnet.files.provenance import provenance

FACTS = [
    {"study": "clean", "model": "mlp", "runs": 10, "seconds": 36.0},
    {"study": "clean", "model": "unmixnet", "runs": 2, "seconds": 3600.0},
    {"study": "official", "model": "unmixnet", "runs": 1, "seconds": 900.0},
]


def row(protocol: str, model: str, metric: str, mean: float, level: str = "window", seeds: int = 1) -> dict:
    about = {"protocol": protocol, "model": model, "metric": metric, "level": level, "split": "test"}
    return {**about, "mean": mean, "sd": 0.01, "lo": mean, "hi": mean, "n": 5, "seeds": seeds}


ROWS = [
    row("smellnet-base:official", "unmixnet", "Acc@1", 0.7, seeds=3),
    *(row(f"smellnet-mixture:{split}:seen", "unmixnet", "MAE", 0.02) for split in ("official", "clean")),
    *(row(f"smellnet-mixture:{split}:unseen", "unmixnet", "MAE", 0.12) for split in ("official", "clean")),
    row("smellnet-mixture:clean:unseen", "unmixnet", "MAE", 0.5, level="recording"),
    row("smellnet-mixture:clean:unseen", "unmixnet, steady state", "MAE", 0.11, level="recording"),
]


@pytest.fixture
def page(tmp_path):
    (tmp_path / "smellnet.json").write_text(json.dumps(provenance("it", facts=FACTS, rows=ROWS)))
    return lambda part: filled(f"<!-- table smellnet:{part} -->\n<!-- end -->", tmp_path).splitlines()


def test_hours_are_those_of_all_fits_of_all_files_each_once(page, tmp_path):
    again = [{"study": "clean", "model": "fick", "runs": 3, "seconds": 1200.0}, FACTS[1]]
    (tmp_path / "ablation.json").write_text(json.dumps(provenance("it", facts=again)))
    lines = filled("<!-- table cost -->\n<!-- end -->", tmp_path).splitlines()
    assert "| smellnet | clean | 12 | 2.10 | unmixnet | 2.00 | 60.0 |" in lines
    assert "| smellnet | official | 1 | 0.25 | unmixnet | 0.25 | 15.0 |" in lines
    assert "| ablation | clean | 3 | 1.00 | fick | 1.00 | 20.0 |" in lines
    assert "| all | together | 16 | 3.35 | unmixnet | 2.25 | 60.0 |" in lines
    assert any(line.startswith("Two at a time: 1.7 hours (smellnet 1.2, ablation 0.5).") for line in lines)


def test_a_file_that_runs_were_added_to_names_the_command_of_the_whole():
    whole, part = ({**provenance(f"unmixnet {name}"), "commit": name} for name in ("whole", "part"))
    assert made_by(whole).startswith("`unmixnet whole`, commit whole, ")
    added = made_by({**part, "earlier": [whole]})
    assert added.startswith("`unmixnet whole` in 2 runs, which the result file names, the last: commit part, ")


def test_the_drop_is_that_of_the_errors_beside_it(page):
    ours = next(line for line in page("overview:official") if line.startswith("| unmixnet |"))
    assert ours == "| unmixnet | 0.700 ± 0.010 | 0.020 |  |  | 0.120 |  |  | 5.00 |"


def test_windows_go_before_recordings_and_a_model_without_windows_is_there(page):
    lines = page("overview:clean")
    assert any(line.startswith("| unmixnet |") and "0.120" in line and "0.500" not in line for line in lines)
    assert any(line.startswith("| unmixnet, steady state |") and "0.110" in line for line in lines)


def test_what_others_report_stands_beside_the_split_it_is_of(page):
    official, clean = page("overview:official"), page("overview:clean")
    reported = [line for line in official if line.startswith(("| paper:", "| SmellNet:", "| LDAC-Net"))]
    assert len(reported) == 10 and all(line.count("|") == 10 for line in reported)
    assert (
        "| paper: UnMixNet | .633 ± .025 | .088 ± .001 | .635 ± .010 |  | .101 ± .002 | .390 ± .007 |  | .15 |"
        in reported
    )
    assert not any(line.startswith("| paper:") for line in clean)
