"""Every mistake in a simulation file is answered at once, with its line and a remedy, and never by a traceback."""

import random
import re
import time

import pytest

from unmixnet.errors import ChamberError, ConfigError, UnmixError
from unmixnet.examples import example
from unmixnet.simulation.config import parse_simulation
from unmixnet.simulation.problem import build

ENOSE = example("enose")
BULBS = """
[chamber]
builder = "two_bulbs"
options = { n_capillary = 4 }

[species]
gases = ["H2", "N2", "CO2"]

[[start]]
cells = ["bulb1"]
fractions = { H2 = 0.5, N2 = 0.5 }

[run]
duration_s = 10.0
"""
LISTED = """
[chamber]
cells = [
  { name = "a", volume_m3 = 1e-5 },
  { name = "b", volume_m3 = 1e-5 },
]
edges = [{ tail = "a", head = "b", length_m = 0.01, area_m2 = 1e-4 }]
[species]
odorants = ["Ar"]
[run]
duration_s = 10.0
"""
BUILT = {"enose": ENOSE, "bulbs": BULBS, "listed": LISTED}
BOX = 'builder = "box"\noptions = { nx = 1000, ny = 1000, nz = 1000 }'

# file, what is replaced, by what, the line of the mistake holds, the answer holds
BAD = [
    ("bulbs", "n_capillary = 4", 'n_capillary = "many"', "n_capillary", "expected a whole number"),
    ("bulbs", "n_capillary = 4", "n_capillary = true", "n_capillary", "expected a whole number"),
    ("bulbs", "n_capillary = 4", "n_capillary = 2.5", "n_capillary", "expected a whole number"),
    ("bulbs", "n_capillary = 4", "n_capillary = 0", "n_capillary", "from 1"),
    ("bulbs", "n_capillary = 4", "length_m = nan", "length_m", "positive number"),
    ("bulbs", "n_capillary = 4", "volumes_m3 = [1, 2, 3]", "volumes_m3", "expected 2 values"),
    ("bulbs", "n_capillary = 4", "volumes_m3 = [[1], 2]", "volumes_m3", "positive number"),
    ("bulbs", '"two_bulbs"\noptions = { n_capillary = 4 }', BOX[10:], "nx =", "1,000,000,000 cells"),
    ("bulbs", "options = { n_capillary = 4 }", "parts = 100000", "parts", "1000"),
    ("bulbs", "options = { n_capillary = 4 }", "parts = 1.5", "parts", "integer"),
    ("bulbs", "duration_s = 10.0", "duration_s = true", "duration_s", "valid number"),
    ("bulbs", "duration_s = 10.0", 'duration_s = "10"', "duration_s", "valid number"),
    ("bulbs", "duration_s = 10.0", "duration_s = nan", "duration_s", "found nan"),
    ("bulbs", "duration_s = 10.0", "duration_s = inf", "duration_s", "found inf"),
    ("bulbs", "duration_s = 10.0", "duration_s = 0", "duration_s", "greater than 0"),
    ("bulbs", "duration_s = 10.0", "duration_s = 1e300", "duration_s", "less than or equal"),
    ("bulbs", "duration_s = 10.0", "duration_s = " + "9" * 5000, "duration_s", "digits"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\ndt_s = 5e-9", "dt_s", "do not fit into memory"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\ndt_s = true", "dt_s", "valid number"),
    ("bulbs", "duration_s = 10.0", "duration_s = 1e11\ndt_s = 1e9", "dt_s", "stages"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\nsave_every_s = 1e-9", "save_every_s", "do not fit into memory"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\ndt_s = 1\ntolerance = 1e-4", "tolerance", "both given"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\ndt_s = 1\nuntil_steady = 1e-4", "until_steady", "both given"),
    ("bulbs", "duration_s = 10.0", 'duration_s = 10.0\nscheme = "first order"', "scheme", "Add dt_s"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\ntolerance = 0", "tolerance", "greater than or equal"),
    ("bulbs", "duration_s = 10.0", "duration_s = 10.0\nduration_s = 3", "duration_s = 3", "overwrite"),
    ("bulbs", "duration_s = 10.0", "duration_s = " + "[" * 5000 + "]" * 5000, "duration_s", "nested"),
    ("bulbs", "duration_s = 10.0", "duration_s = " + "[" * 60 + "]" * 60, "duration_s", "nested"),
    ("bulbs", "[run]", "[run]\n" + ".".join("a" * 3000) + " = 1", "a.a.a", "nested"),
    ("bulbs", '["bulb1"]', '["bulb3"]', "bulb3", "Did you mean 'bulb"),
    ("bulbs", '["bulb1"]', "[]", "cells = []", "at least 1"),
    ("bulbs", '["bulb1"]', "[1]", "cells = [1]", "valid string"),
    ("bulbs", "H2 = 0.5", "H2 = 0.7", "fractions", "sum to 1.2"),
    ("bulbs", "H2 = 0.5", "H2 = 0.2", "fractions", "sum to 0.7"),
    ("bulbs", "H2 = 0.5", "H2 = -0.5", "fractions", "greater than or equal to 0"),
    ("bulbs", "H2 = 0.5", "Xe = 0.5", "fractions", "not a species of this mixture"),
    ("bulbs", "H2 = 0.5, N2", "hydrogen = 0.5, H2", "fractions", "given twice"),
    ("bulbs", '"CO2"]', '"CO2", "H2"]', "gases", "given twice"),
    ("bulbs", '"H2", "N2", "CO2"', '"H2"', "gases", "expected two or more"),
    ("bulbs", '"CO2"', '"CO3"', "gases", "did you mean"),
    ("bulbs", '"CO2"]', '"CO2"]\ncarrier = "air"', "gases", "beside a carrier"),
    ("bulbs", '"CO2"]', '"CO2"]\ndiffusivity_m2_s = [[1, 2], [3]]', "diffusivity_m2_s", "3×3"),
    ("bulbs", "[run]", "[conditions.cells.bulb9]\ntemperature_K = 300\n[run]", "bulb9", "not a cell"),
    ("bulbs", "[run]", "[conditions.cells.bulb1]\ntemperature_K = 0\n[run]", "temperature_K", "greater than 0"),
    ("bulbs", "[run]", "[fixed.bulb1]\nfractions = [[0.1, 0.2]]\n[run]", "fixed.bulb1", "not held fixed"),
    ("listed", '"b", volume_m3 = 1e-5', '"b", volume_m3 = 0', '"b"', "expected a positive number"),
    ("listed", '"b", volume_m3 = 1e-5', '"b", volume_m3 = "x"', '"b"', "valid number"),
    ("listed", '"b", volume_m3 = 1e-5', '"b", volume_m3 = 1e-5, outlet_m3_s = 1', '"b"', "continuity"),
    ("listed", 'name = "b"', 'name = "a"', "volume_m3 = 1e-5 },\n]", "same name"),
    ("listed", "length_m = 0.01", "length_m = inf", "length_m", "finite"),
    ("listed", 'head = "b"', 'head = "c"', "edges", "not a cell"),
    ("listed", "cells = [", "celsl = [", "celsl", "Did you mean 'cells'"),
    ("enose", "beta = [0.6, 1.0, 0.8]", "beta = [0.6, 1.0]", "beta = [0.6, 1.0]", "2 numbers for 3 odorants"),
    ("enose", "beta = [0.6, 1.0, 0.8]", "beta = [0.6, true]", "beta = [0.6, true]", "valid number"),
    ("enose", "lid = 0.004", "lid = -1", "wall_per_s", "greater than or equal to 0"),
    ("enose", "lid = 0.004", "lidd = 1", "wall_per_s", "Did you mean 'lid'"),
    ("enose", '"limonene"', '"limonen"', "odorants =", "did you mean 'limonene'"),
    ("enose", 'carrier = "air"', 'carrier = "aire"', "carrier", "did you mean 'air'"),
    ("enose", "[transduction]", "[source.cells]\nhall = 1\n[transduction]", "hall", "not a cell"),
    ("enose", 'name = "VOC"', 'name = "VOC"\ncell = "here"', '"here"', "not a cell"),
]


def _line(text: str, fragment: str) -> int:
    place = text.index(fragment.split("\n")[0] if text.count(fragment) != 1 else fragment)
    return text.count("\n", 0, place) + 1


@pytest.mark.parametrize(("file", "old", "new", "there", "says"), BAD, ids=[f"{b[2][:30]}-{b[4][:20]}" for b in BAD])
def test_a_mistake_is_answered_at_once_with_its_line_and_a_remedy(file, old, new, there, says):
    assert BUILT[file].count(old) >= 1
    text = BUILT[file].replace(old, new, 1)
    since = time.monotonic()
    with pytest.raises((ConfigError, ChamberError)) as refused:
        build(parse_simulation(text, name="my.toml"))
    assert time.monotonic() - since < 5
    message = str(refused.value)
    assert says in message and refused.value.remedy and len(message) < 500
    assert re.search(r"my\.toml:(\d+)", message)[1] == str(_line(text, there)), message


@pytest.mark.parametrize("file", BUILT)
def test_twin_without_a_mistake_the_files_are_taken(file):
    assert build(parse_simulation(BUILT[file])).chamber.cells


WORDS = ("-1", "0", "1e300", "nan", "true", '"x"', "[]", "{}", "[[1]]", "1979-05-27", "10000000", '["ethanol"]', "''")


def mutated(text: str, draw: random.Random) -> str:
    """The text with one thing changed: a value, a line gone or doubled, a character gone or another."""
    lines = text.splitlines()
    at = draw.randrange(len(lines))
    how = draw.randrange(5)
    if how <= 1 and "=" in lines[at]:
        lines[at] = lines[at].split("=")[0] + "= " + draw.choice(WORDS)
    elif how == 2:
        lines.pop(at)
    elif how == 3:
        lines.insert(at, draw.choice(lines))
    elif lines[at]:
        place = draw.randrange(len(lines[at]))
        lines[at] = lines[at][:place] + draw.choice('[]{}=".,#x9\t') + lines[at][place + 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize("file", BUILT)
def test_a_damaged_file_is_built_or_refused_with_a_remedy(file):
    draw, refused = random.Random(0), 0
    for _ in range(100):
        text = mutated(BUILT[file], draw)
        try:
            build(parse_simulation(text))
        except UnmixError as error:
            refused += 1
            assert error.remedy and error.where, text
    assert 20 < refused < 100, "some are damaged, and some still mean something"
