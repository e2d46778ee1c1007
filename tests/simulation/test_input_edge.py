"""Whatever is given to a chamber, a builder or a simulation, only our errors come back, each with a remedy."""

import inspect
import math
import os
import re
from pathlib import Path

import pytest

import unmixnet as um
from unmixnet.errors import ChamberError, ConfigError, UnmixError
from unmixnet.simulation.builders import BUILDERS
from unmixnet.simulation.output import write_parquet
from unmixnet.simulation.state_file import load_state, save_state

ODD = [0, -1, math.nan, math.inf, "x", None, 2.5, True, [], (), [1], (1, 2, 3, 4)]
ARGUMENTS = [(name, key) for name, builder in BUILDERS.items() for key in inspect.signature(builder).parameters]


@pytest.mark.parametrize(("name", "key"), ARGUMENTS)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_a_builder_makes_a_chamber_or_says_which_argument_is_wrong(name, key, value):
    try:
        chamber = BUILDERS[name](**{key: value})
    except UnmixError as error:
        assert isinstance(error, ChamberError) and error.remedy and error.where
    else:
        assert all(cell.volume_m3 > 0 for cell in chamber.cells)


@pytest.mark.parametrize(
    ("name", "key", "value"), [("chain", "n_cells", 2.5), ("chain", "sensors", -1), ("flow_through", "length_m", 0)]
)
def test_a_builder_refuses_what_cannot_be_counted_or_built(name, key, value):
    with pytest.raises(ChamberError, match=key):
        BUILDERS[name](**{key: value})


A, B = um.Cell("a", 1.0), um.Cell("b", 1.0)
CHAMBERS = {
    "nothing": (None, (), ()),
    "a number": (3, (), ()),
    "text for a cell": (["x"], (), ()),
    "a volume in text": ([um.Cell("a", "1")], (), ()),  # pyright: ignore[reportArgumentType]
    "no name": ([um.Cell(None, 1.0)], (), ()),  # pyright: ignore[reportArgumentType]
    "a flow in text": ([um.Cell("a", 1.0, inlet_m3_s="x")], (), ()),  # pyright: ignore[reportArgumentType]
    "an infinite volume": ([um.Cell("a", math.inf)], (), ()),
    "no edges": ((A, B), None, ()),
    "an edge of lists": ((A, B), [um.Edge(["a"], "b", 1.0, 1.0)], ()),  # pyright: ignore[reportArgumentType]
    "a length in text": ((A, B), [um.Edge("a", "b", "x", 1.0)], ()),  # pyright: ignore[reportArgumentType]
    "a velocity that is none": ((A, B), [um.Edge("a", "b", 1.0, 1.0, math.nan)], ()),
    "text for a sensor": ((A,), (), ("s",)),
    "a sensor nowhere": ((A,), (), (um.Sensor("s", None),)),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("parts", CHAMBERS.values(), ids=CHAMBERS)
def test_a_chamber_of_wrong_parts_is_refused(parts):
    with pytest.raises(ChamberError) as caught:
        um.Chamber(*parts)
    assert caught.value.where and caught.value.remedy


@pytest.mark.parametrize("path", [None, 3, "", "nothing.toml", "/dev/zero", "a\0b", "x" * 5000, os.curdir], ids=repr)
def test_a_simulation_is_read_from_a_plain_file(path):
    with pytest.raises(ConfigError) as caught:
        um.load_simulation(path)
    assert caught.value.remedy


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "jar.toml")
    with pytest.raises(ConfigError, match="a pipe, not a file"):
        um.load_simulation(tmp_path / "jar.toml")


@pytest.mark.parametrize("wrong", [None, 3, "", "x"], ids=repr)
@pytest.mark.parametrize("take", [um.parse_simulation, um.build, um.simulate, um.example])
def test_what_is_no_simulation_is_refused(take, wrong):
    with pytest.raises(UnmixError) as caught:
        take(wrong)
    assert caught.value.remedy


TEXT = um.example("enose")
KEYS = sorted(set(re.findall(r"(?m)^(\w+)\s*=", TEXT)))


@pytest.mark.parametrize("key", KEYS)
def test_a_wrong_value_of_any_key_is_our_error_or_none(key):
    for value in ("-1", "0", "nan", "inf", "1e300", "[]", '""', '"x"', "[-1]", "{}"):
        try:
            um.build(um.parse_simulation(re.sub(rf"(?m)^{key}\s*=.*$", f"{key} = {value}", TEXT)))
        except UnmixError as error:
            assert error.remedy, (key, value)


@pytest.mark.parametrize("key", ["amount_mol", "k_ads_m3_mol_s", "k_des_per_s", "tau_decay_s"])
def test_no_amount_rate_or_time_is_negative(key):
    with pytest.raises(ConfigError, match=key):
        um.parse_simulation(re.sub(rf"(?m)^{key}\s*=.*$", f"{key} = -1", TEXT))


@pytest.fixture(scope="module")
def short():
    return um.build(um.parse_simulation(re.sub(r"(?m)^duration_s\s*=.*$", "duration_s = 1.0", TEXT)))


def test_a_state_is_read_from_a_plain_file(short, tmp_path: Path):
    save_state(short.start, tmp_path / "sound.npz")
    assert load_state(tmp_path / "sound.npz", like=short.start).N.shape == short.start.N.shape
    (tmp_path / "zero.npz").symlink_to("/dev/zero")
    (tmp_path / "empty.npz").touch()
    (tmp_path / "text.npz").write_text("text")
    for name in ("zero.npz", "empty.npz", "text.npz", "nothing.npz"):
        with pytest.raises(ConfigError, match="not a saved state"):
            load_state(tmp_path / name, like=short.start)


def test_a_start_that_is_no_state_is_refused(short):
    with pytest.raises(ConfigError, match="start"):
        um.simulate(short, start=3)  # pyright: ignore[reportArgumentType]


def test_a_table_that_cannot_be_written_is_our_error(short, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(UnmixError, match="cannot be written"):
        write_parquet(um.simulate(short), tmp_path / "file" / "table.parquet")
