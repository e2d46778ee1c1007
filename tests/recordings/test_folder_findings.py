"""Mixed sample rates, and labels that do not sum to 100 %, are findings wherever recordings are read."""

from pathlib import Path

import pytest

from unmixnet.errors import ConfigError
from unmixnet.recordings.audit import audit_folder
from unmixnet.recordings.audit.statements import statements
from unmixnet.recordings.codes import Code
from unmixnet.recordings.datasets import load_dataset
from unmixnet.recordings.inspection import as_json, check_files, expand, folder_findings
from unmixnet.recordings.labels import parse_label
from unmixnet.recordings.reader import read_recording


def write(path: Path, step_s: float = 0.1, label: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{i * step_s:.3f},{500 + i % 7},{300 + i % 5}\n" for i in range(40))
    path.write_text("time_s,NO2 [counts],CO [counts]\n" + rows)
    if label:
        path.with_suffix(".toml").write_text(f"label = {label}\n")
    return path


def titles(folder: Path) -> dict[str, str]:
    return {statement.title: statement.weight for statement in statements(audit_folder(folder))}


@pytest.mark.parametrize(("second_s", "mixed"), [(0.1, False), (0.102, False), (0.2, True), (1.0, True)])
def test_mixed_sample_rates_are_a_finding(second_s, mixed, tmp_path: Path):
    write(tmp_path / "a.csv")
    write(tmp_path / "b.csv", second_s)
    checked = list(check_files(expand([tmp_path])))
    summary = as_json(checked, 0)
    assert bool(summary["findings"]) == mixed == ("mixed-rates" in summary["summary"]["findings"])
    assert ("Mixed sample rates" in titles(tmp_path)) == mixed


def test_other_channels_may_have_another_rate(tmp_path: Path):
    slow = write(tmp_path / "b.csv", 1.0)
    slow.write_text(slow.read_text().replace("NO2", "VOC"))
    assert not folder_findings([read_recording(write(tmp_path / "a.csv")), read_recording(slow)])


def test_arrays_are_not_made_of_recordings_that_are_too_slow(tmp_path: Path):
    write(tmp_path / "a.csv", label='"almond"')
    write(tmp_path / "b.csv", 1.0)
    (tmp_path / "manifest.csv").write_text("file,label\na.csv,almond\nb.csv,clove\n")
    data = load_dataset("folder", tmp_path)
    assert data.arrays(rate_Hz=1.0, response="level").X.shape[0] == 2
    with pytest.raises(ConfigError, match="1 rows per second"):
        data.arrays(rate_Hz=10.0, response="level")


@pytest.mark.parametrize("label", ['"almond_60_clove_50"', "{ almond = 60, clove = 50 }"])
def test_a_sidecar_that_sums_to_110_is_a_finding(label, tmp_path: Path):
    recording = read_recording(write(tmp_path / "a.csv", label=label))
    assert "110" in recording.found(Code.RATIO_SUM)[0].message
    assert titles(tmp_path)["1 label not summing to 100"] == "serious"


def test_thirds_are_rounded_not_wrong(tmp_path: Path):
    write(tmp_path / "a.csv", label='"almond_33_clove_33_mint_33"')
    assert titles(tmp_path)["1 label not summing to 100"] == "notice"


def test_a_manifest_that_sums_to_110_is_a_finding_of_the_data_set_and_of_the_recording(tmp_path: Path):
    write(tmp_path / "a.csv")
    write(tmp_path / "b.csv")
    (tmp_path / "manifest.csv").write_text("file,label\nb.csv,almond\na.csv,almond:60 + clove:50\n")
    data = load_dataset("folder", tmp_path)
    assert [(finding.code, finding.line) for finding in data.findings] == [(Code.RATIO_SUM, 3)]
    by_file = {entry.path: recording for entry, recording in data.recordings()}
    assert by_file["a.csv"].found(Code.RATIO_SUM) and not by_file["b.csv"].found(Code.RATIO_SUM)
    assert titles(tmp_path)["1 label not summing to 100"] == "serious"


@pytest.mark.parametrize(
    "text", ["almond:33.3 + clove:33.3 + mint:33.4", "almond + clove + mint", "almond:0.6 + clove:0.4"]
)
def test_decimals_and_equal_shares_are_whole(text):
    label = parse_label(text)
    assert label is not None and label.odd_sum is None


def test_a_share_that_is_not_stated_is_not_made_up():
    assert parse_label("almond:50 + clove") is None
