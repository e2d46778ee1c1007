"""A simulation file is understood completely or refused with its line and a remedy."""

import pytest

from unmixnet.errors import ChamberError, ConfigError, UnmixError
from unmixnet.examples import example
from unmixnet.simulation.config import load_simulation, parse_simulation
from unmixnet.simulation.problem import build

ENOSE = example("enose")


def _line(text: str, fragment: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if fragment in line)


def _edit(old: str, new: str) -> str:
    assert ENOSE.count(old) >= 1
    return ENOSE.replace(old, new, 1)


def test_the_packaged_example_builds_eight_cells_and_four_sensors():
    problem = build(parse_simulation(ENOSE))
    assert len(problem.chamber.cells) == 8
    assert [sensor.name for sensor in problem.chamber.sensors] == ["NO2", "C2H5OH", "VOC", "CO"]
    assert problem.species == ("air", "ethanol", "limonene", "benzaldehyde")


@pytest.mark.parametrize(
    ("old", "new", "fragment", "says"),
    [
        ("amount_mol", "amout_mol", "amout_mol", "did you mean 'amount_mol'"),
        ("tau_rise_s = 6.0", "tau_rise = 6.0", "tau_rise = 6.0", "did you mean 'tau_rise_s'"),
        ("tolerance = 1e-4", "dt_s = -0.25", "dt_s = -0.25", "greater than 0"),
        ("tolerance = 1e-4", 'dt_s = "fast"', "dt_s =", "found 'fast'"),
        ("sign = -1", "sign = 3", "sign = 3", "found 3"),
        ("[conditions]", "[condition]", "[condition]", "did you mean 'conditions'"),
        ('family = "power"', 'family = "magic"', "family =", "found 'magic'"),
    ],
)
def test_a_mistake_is_answered_with_its_line_and_a_remedy(old, new, fragment, says):
    text = _edit(old, new)
    with pytest.raises(ConfigError) as refused:
        parse_simulation(text, name="my.toml")
    assert f"my.toml:{_line(text, fragment)}" in str(refused.value)
    assert says in str(refused.value).lower()


def test_a_missing_key_is_named():
    with pytest.raises(ConfigError, match=r"source\.amount_mol: this key is missing"):
        parse_simulation(_edit("amount_mol = [3.0e-7, 1.6e-7, 0.9e-7]", "#"))


def test_broken_toml_names_line_and_column():
    with pytest.raises(ConfigError, match=r"x\.toml:2:\d+: not valid TOML"):
        parse_simulation("[run]\ndt_s = = 1\n", name="x.toml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"limonene"', '"limonen"', "did you mean 'limonene'"),
        ("amount_mol = [3.0e-7, 1.6e-7, 0.9e-7]", "amount_mol = [1e-7, 2e-7]", "2 numbers for 3 odorants"),
        ("lid = 0.004", "lidd = 0.004", "'lidd' is not a cell"),
        ("flow_m3_s = 1.2e-6", "flow = 1.2e-6", "unknown option"),
        ("tolerance = 1e-4", "dt_s = 1e6", "substeps"),
        ('name = "VOC"', 'name = "VOX"', "the sensor has no cell"),
        ('profile = "rise-decay"', 'profile = "tabulated"', "a table needs"),
    ],
)
def test_a_scene_that_cannot_exist_is_refused_with_a_remedy(old, new, says):
    with pytest.raises(UnmixError) as refused:
        build(parse_simulation(_edit(old, new)))
    assert says in str(refused.value)
    assert refused.value.where and refused.value.remedy


def test_cells_and_edges_can_be_written_by_hand():
    text = """
    [chamber]
    cells = [{name = "a", volume_m3 = 1e-5, kind = "source"}, {name = "b", volume_m3 = 1e-5}]
    edges = [{tail = "a", head = "b", length_m = 0.01, area_m2 = 1e-4}]
    [species]
    odorants = ["ethanol"]
    [source]
    amount_mol = 1e-8
    [run]
    duration_s = 1.0
    dt_s = 0.5
    """
    assert [cell.name for cell in build(parse_simulation(text)).chamber.cells] == ["a", "b"]
    with pytest.raises(ChamberError, match=r"edges\[0\].*Did you mean 'b'"):
        build(parse_simulation(text.replace('head = "b"', 'head = "bb"')))


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.toml: cannot be read"):
        load_simulation(tmp_path / "nothing.toml")
