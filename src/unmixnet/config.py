"""A simulation as a TOML file: every key checked, every mistake answered with its line and a remedy."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from unmixnet.errors import ConfigError

__all__ = ["SimulationConfig", "load_simulation", "parse_simulation"]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


PerOdorant = Annotated[list[float], BeforeValidator(_as_list)]
"""One number per odorant, or a single number for all of them."""


class _Section(BaseModel):
    # the strings below the fields become the key reference in docs/simulate.md
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class CellSection(_Section):
    """`[[chamber.cells]]`."""

    name: str
    """Unique name."""
    volume_m3: float
    """Volume of well-mixed gas."""
    kind: Literal["source", "gas", "wall", "sensor", "outlet", "fixed"] = "gas"
    """What it is for; `fixed` holds the composition given under `[fixed.NAME]`."""
    inlet_m3_s: float = 0.0
    """Flow that enters the chamber here."""
    outlet_m3_s: float = 0.0
    """Flow that leaves the chamber here."""


class EdgeSection(_Section):
    """`[[chamber.edges]]`."""

    tail: str
    """Cell where it begins."""
    head: str
    """Cell where it ends."""
    length_m: float
    """Distance between the cell centres."""
    area_m2: float
    """Interface area."""
    velocity_m_s: float = 0.0
    """Gas velocity from tail to head; flows must balance in every cell."""


class ChamberSection(_Section):
    """`[chamber]`: a builder with its options, or cells and edges."""

    builder: Literal["chain", "box", "two_bulbs", "flow_through", "portable_enose"] | None = None
    """A ready-made chamber; leave it out to list cells and edges."""
    options: dict[str, Any] = {}
    """Keyword arguments of the builder, e.g. `{ n_cells = 12 }`."""
    cells: list[CellSection] = []
    """Cells, if there is no builder."""
    edges: list[EdgeSection] = []
    """Edges, if there is no builder."""


class ConditionsSection(_Section):
    """`[conditions]`."""

    temperature_K: float = Field(298.15, gt=0)
    """Gas temperature."""
    humidity_g_m3: float = Field(10.0, ge=0)
    """Absolute humidity."""
    pressure_Pa: float = Field(101325.0, gt=0)
    """Pressure."""


class SpeciesSection(_Section):
    """`[species]`: names from the table; diffusivities by Fuller unless given."""

    carrier: str = "air"
    """The gas that everything else is a trace in."""
    odorants: list[str] = Field(min_length=1)
    """Names from the species table, e.g. `ethanol`."""
    diffusivity_m2_s: list[list[float]] | None = None
    """Full symmetric matrix, carrier first; by default from Fuller's formula."""


class SourceSection(_Section):
    """`[source]`: how much of each odorant, when, where."""

    profile: Literal["rise-decay", "constant", "tabulated"] = "rise-decay"
    """How release goes in time."""
    amount_mol: PerOdorant
    """Moles over the recording; for a constant profile moles per second."""
    tau_rise_s: PerOdorant = [5.0]
    """Rise of a rise–decay profile."""
    tau_decay_s: PerOdorant = [60.0]
    """Decay of a rise–decay profile."""
    times_s: list[float] = []
    """Knots of a tabulated profile."""
    rates_per_s: list[PerOdorant] = []
    """Release rates at the knots; their integral times `amount_mol` is what is released."""
    cells: dict[str, float] = {}
    """Weight of each source cell; by default the cells of kind `source`, equally."""
    vaporisation_J_mol: PerOdorant = [0.0]
    """Enthalpy of vaporisation: how release grows with temperature."""
    humidity_slope: PerOdorant = [0.0]
    """Change of ln(release) per unit of ln(H/10 g m⁻³)."""


class CompositionSection(_Section):
    """`[inlet]` or `[fixed.CELL]`: odorant fractions in time; the carrier is the rest."""

    times_s: list[float] = [0.0]
    """Knots; linear between them."""
    fractions: list[PerOdorant]
    """One row of odorant mole fractions for each knot."""


class SensorSection(_Section):
    """`[[sensors]]`: surface and readout of one sensor."""

    name: str
    """Unique name; a builder's sensor of this name brings its cell."""
    cell: str | None = None
    """Cell that it breathes; may be left out if the builder already places a sensor of this name."""
    k_ads_m3_mol_s: PerOdorant
    """Adsorption rate constants."""
    k_des_per_s: PerOdorant
    """Desorption rate constants."""
    sites_mol: float = Field(1e-12, ge=0)
    """Surface sites: what a full monolayer takes from the gas."""
    beta: PerOdorant = [1.0]
    """Sensitivity to the coverage by each odorant."""
    k: float = 1.0
    """Steepness of the transduction (logarithmic, power, sips)."""
    n: float = 0.5
    """Exponent of the transduction (power, sips)."""
    r0: float = 1e-3
    """Background of clean air (sips)."""
    slopes: list[float] = []
    """Slopes at the knots (spline)."""
    gain: float = 1.0
    """Factor on the transduction."""
    sign: Literal[1, -1] = 1
    """−1 for a sensor whose signal falls."""
    baseline: float = 0.0
    """Signal in clean air at 298.15 K and 10 g/m³."""
    baseline_per_K: float = 0.0
    """Drift of the baseline with temperature."""
    baseline_per_lnH: float = 0.0
    """Drift of the baseline with ln(humidity)."""
    gain_per_K: float = 0.0
    """Change of ln(gain) with temperature."""
    gain_per_lnH: float = 0.0
    """Change of ln(gain) with ln(humidity)."""
    tau_rise_s: float = Field(3.0, gt=0)
    """Lag while the signal leaves its baseline."""
    tau_recovery_s: float | None = None
    """Lag while it returns; as `tau_rise_s` if left out."""


class TransductionSection(_Section):
    """`[transduction]`: the family that all sensors share."""

    family: Literal["linear", "logarithmic", "power", "sips", "spline"] = "power"
    """g(r) = r; ln(1 + kr)/k; (1 + kr)ⁿ − 1; Sips; monotone spline."""
    knots: list[float] = []
    """Knots of a spline, from 0 upwards."""


class RunSection(_Section):
    """`[run]`: how long, how fine."""

    duration_s: float = Field(gt=0)
    """Length of the recording."""
    dt_s: float = Field(gt=0)
    """Step; cells that are too small for it are substepped."""
    dtype: Literal["float32", "float64"] = "float64"
    """Floating type."""
    start: str = "clean air"
    """`clean air`, `steady state` of the source at t = 0, or a state file (.npz) beside this file."""


class SimulationConfig(_Section):
    """A whole simulation file."""

    chamber: ChamberSection
    species: SpeciesSection
    source: SourceSection
    sensors: list[SensorSection] = []
    run: RunSection
    conditions: ConditionsSection = ConditionsSection()  # pyright: ignore[reportCallIssue]
    transduction: TransductionSection = TransductionSection()
    inlet: CompositionSection | None = None
    fixed: dict[str, CompositionSection] = {}
    wall_per_s: dict[str, float] = {}
    """Wall loss rate of the odorants in the cells named."""


def load_simulation(path: str | Path) -> SimulationConfig:
    """Read a simulation file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read ({error})", where=str(path), remedy="Check the path") from None
    config = parse_simulation(text, name=str(path))
    start = config.run.start
    if start.endswith(".npz"):
        run = config.run.model_copy(update={"start": str(path.parent / start)})
        return config.model_copy(update={"run": run})
    return config


def parse_simulation(text: str, *, name: str = "<text>") -> SimulationConfig:
    """Parse and check the text of a simulation file."""
    try:
        return SimulationConfig.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        where = f"{name}:{place[1]}:{place[2]}" if place else name
        problem = re.sub(r" \(at .*\)", "", str(error))
        raise ConfigError(f"not valid TOML: {problem}", where=where, remedy="Correct this line") from None
    except ValidationError as error:
        # a misspelt key shows up twice, as unknown and as missing; the first of the two says how to mend it
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        location = tuple(str(part) for part in first["loc"])
        where = f"{name}:{_line_of(text, location)}: {'.'.join(location)}"
        raise ConfigError(_problem(first), where=where, remedy=_remedy(first, location)) from None


def _problem(first: Any) -> str:
    if first["type"] == "extra_forbidden":
        return "unknown key"
    if first["type"] == "missing":
        return "this key is missing"
    seen = repr(first["input"])
    return f"{first['msg'][0].lower()}{first['msg'][1:]}, but found {seen if len(seen) < 60 else seen[:57] + '…'}"


def _remedy(first: Any, location: tuple[str, ...]) -> str:
    if first["type"] == "missing":
        return f"Add {location[-1]}"
    if first["type"] == "extra_forbidden":
        known = _keys_at(location[:-1])
        close = difflib.get_close_matches(location[-1], known, n=1)
        return f"Did you mean {close[0]!r}?" if close else f"Use one of {', '.join(known)}"
    return "Correct the value"


def _keys_at(location: tuple[str, ...]) -> list[str]:
    """Keys that the section at this place accepts."""
    model: Any = SimulationConfig
    for part in location:
        if part.isdigit():
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = [a for a in (annotation, *getattr(annotation, "__args__", ())) if hasattr(a, "model_fields")]
        if inner:
            model = inner[0]
    return list(model.model_fields)


def _line_of(text: str, location: tuple[str, ...]) -> int:
    """Line of the deepest part of a location that the file mentions; entries of arrays of tables are counted."""
    lines, at = text.splitlines(), 0
    for depth, part in enumerate(location):
        if part.isdigit():
            continue
        repeat = int(location[depth + 1]) if depth + 1 < len(location) and location[depth + 1].isdigit() else 0
        word = re.escape(part)
        pattern = re.compile(rf"^\s*(\[+[\w.\"' ]*\b{word}\s*\]+|[\"']?{word}[\"']?\s*=|[\"']?{word}[\"']?\.)")
        hits = [i for i in range(at, len(lines)) if pattern.match(lines[i])]
        if hits:
            at = hits[min(repeat, len(hits) - 1)]
    return at + 1
