"""A simulation as a TOML file: every key checked, every mistake answered with its line and a remedy."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from unmixnet.errors import ConfigError
from unmixnet.files.reading import read_text
from unmixnet.files.toml import Section, check_values, line_of, parse_toml

__all__ = ["SimulationConfig", "load_simulation", "parse_simulation"]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else value


PerOdorant = Annotated[list[float], BeforeValidator(_as_list)]
"""One number per odorant, or a single number for all of them."""
Amounts = Annotated[list[Annotated[float, Field(ge=0)]], BeforeValidator(_as_list)]
"""The same, none of them negative."""
Times = Annotated[list[Annotated[float, Field(gt=0)]], BeforeValidator(_as_list)]
"""The same, all of them positive."""


class _Strict(Section):
    """A table whose numbers are numbers: neither text nor true or false stands for one."""

    model_config = ConfigDict(strict=True)


class CellSection(_Strict):
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


class EdgeSection(_Strict):
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


class ChamberSection(_Strict):
    """`[chamber]`: a builder with its options, or cells and edges."""

    builder: Literal["chain", "box", "two_bulbs", "flow_through", "portable_enose"] | None = None
    """A ready-made chamber; leave it out to list cells and edges."""
    options: dict[str, Any] = {}
    """Keyword arguments of the builder, e.g. `{ n_cells = 12 }`."""
    cells: list[CellSection] = []
    """Cells, if there is no builder."""
    edges: list[EdgeSection] = []
    """Edges, if there is no builder."""
    parts: int = Field(1, ge=1, le=1000)
    """Sub-cells that each cell is divided into along its flow; names of cells then mean all of their sub-cells."""


class CellConditionsSection(_Strict):
    """`[conditions.cells.NAME]`: what one cell has of its own."""

    temperature_K: float | None = Field(None, gt=0, le=5000)
    """Temperature of this cell; by default that of the chamber."""
    pressure_Pa: float | None = Field(None, gt=0, le=1e9)
    """Pressure in this cell; by default that of the chamber."""


class ConditionsSection(_Strict):
    """`[conditions]`."""

    temperature_K: float = Field(298.15, gt=0, le=5000)
    """Gas temperature."""
    humidity_g_m3: float = Field(10.0, ge=0)
    """Absolute humidity."""
    pressure_Pa: float = Field(101325.0, gt=0, le=1e9)
    """Pressure."""
    cells: dict[str, CellConditionsSection] = {}
    """Cells with a temperature or pressure of their own: `[conditions.cells.NAME]`."""


class SpeciesSection(_Strict):
    """`[species]`: names or formulas from the table; diffusivities by Fuller unless given."""

    carrier: str = "air"
    """The gas that everything else is a trace in."""
    odorants: list[str] = []
    """Names or formulas from the species table, e.g. `ethanol`."""
    gases: list[str] = []
    """Instead of both: a mixture of equals, e.g. `["H2", "N2", "CO2"]`; the first has index 0."""
    diffusivity_m2_s: list[list[float]] | None = None
    """Full symmetric matrix in the order of `gases`, or carrier first; by default from Fuller's formula."""

    @property
    def names(self) -> tuple[str, ...]:
        """All species, the one of index 0 first."""
        return tuple(self.gases) or (self.carrier, *self.odorants)

    @model_validator(mode="after")
    def _are_there(self) -> Self:
        key = "gases" if self.gases else "odorants"
        if self.gases and self.model_fields_set & {"carrier", "odorants"}:
            raise ConfigError(
                "gases stand beside a carrier or odorants",
                where="species.gases",
                remedy="Give either gases, all of them, or a carrier and its odorants",
            )
        if len(self.names) < 2:
            problem = f"{len(self.names)} gas is given, expected two or more"
            raise ConfigError(problem, where=f"species.{key}", remedy='Add odorants = ["…"], or two or more gases')
        for name in self.names:
            if self.names.count(name) > 1:
                raise ConfigError(f"{name!r} is given twice", where=f"species.{key}", remedy="Remove one of them")
        return self


class SourceSection(_Strict):
    """`[source]`: how much of each odorant, when, where."""

    profile: Literal["rise-decay", "constant", "tabulated"] = "rise-decay"
    """How release goes in time."""
    amount_mol: Amounts
    """Moles over the recording; for a constant profile moles per second."""
    tau_rise_s: Times = [5.0]
    """Rise of a rise–decay profile."""
    tau_decay_s: Times = [60.0]
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


class StartSection(_Strict):
    """`[[start]]`: the gas that cells hold at the start."""

    cells: list[str] = Field(min_length=1)
    """Names of cells; `*`, `?` and `[0-3]` stand for several."""
    fractions: dict[str, Annotated[float, Field(ge=0, le=1)]]
    """Mole fractions by species, e.g. `{ H2 = 0.5, N2 = 0.5 }`; the first species fills up what is left."""


class CompositionSection(_Strict):
    """`[inlet]` or `[fixed.CELL]`: odorant fractions in time; the carrier is the rest."""

    times_s: list[float] = [0.0]
    """Knots; linear between them."""
    fractions: list[PerOdorant]
    """One row of odorant mole fractions for each knot."""


class SensorSection(_Strict):
    """`[[sensors]]`: surface and readout of one sensor."""

    name: str
    """Unique name; a builder's sensor of this name brings its cell."""
    cell: str | None = None
    """Cell that it breathes; may be left out if the builder already places a sensor of this name."""
    k_ads_m3_mol_s: Amounts
    """Adsorption rate constants."""
    k_des_per_s: Amounts
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
    tau_recovery_s: float | None = Field(None, gt=0)
    """Lag while it returns; as `tau_rise_s` if left out."""


class TransductionSection(_Strict):
    """`[transduction]`: the family that all sensors share."""

    family: Literal["linear", "logarithmic", "power", "sips", "spline"] = "power"
    """g(r) = r; ln(1 + kr)/k; (1 + kr)ⁿ − 1; Sips; monotone spline."""
    knots: list[float] = []
    """Knots of a spline, from 0 upwards."""


class RunSection(_Strict):
    """`[run]`: how long, how fine."""

    duration_s: float = Field(gt=0, le=1e12)
    """Length of the recording."""
    tolerance: float = Field(1e-4, ge=1e-10, le=0.1)
    """Error of a step that is allowed, relative; the steps are chosen for it."""
    save_every_s: float | None = Field(None, gt=0)
    """Times that come back; by default a round number near a 500th of the duration."""
    until_steady: float | None = Field(None, gt=0, le=0.1)
    """Stop once the state would change by less than this (relative) in as much time as has passed."""
    dt_s: float | None = Field(None, gt=0)
    """Instead of a tolerance: a fixed step, of which every one is saved; for derivatives in reverse."""
    scheme: Literal["second order", "first order"] = "second order"
    """In time and along flows; `first order` is the paper's splitting, upwind, and needs `dt_s`."""
    dtype: Literal["float32", "float64"] = "float64"
    """Floating type."""
    start: str = "clean air"
    """`clean air`, `steady state` of the source at t = 0, or a state file (.npz) beside this file."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.dt_s is None and self.scheme == "first order":
            raise ConfigError(
                "the first-order scheme has no steps of its own choice", where="run.scheme", remedy="Add dt_s"
            )
        for key in ("tolerance", "save_every_s", "until_steady"):
            if self.dt_s is not None and key in self.model_fields_set:
                raise ConfigError(
                    f"{key} and dt_s are both given, but fixed steps are neither chosen nor thinned out",
                    where=f"run.{key}",
                    remedy=f"Remove dt_s, or {key}",
                )
        return self


class SimulationConfig(_Strict):
    """A whole simulation file."""

    chamber: ChamberSection = ChamberSection()  # pyright: ignore[reportCallIssue]
    species: SpeciesSection
    source: SourceSection | None = None
    sensors: list[SensorSection] = []
    run: RunSection
    conditions: ConditionsSection = ConditionsSection()  # pyright: ignore[reportCallIssue]
    transduction: TransductionSection = TransductionSection()
    inlet: CompositionSection | None = None
    start: list[StartSection] = []
    """Gas of cells that do not start full of the first species."""
    fixed: dict[str, CompositionSection] = {}
    wall_per_s: dict[str, Annotated[float, Field(ge=0)]] = {}
    """Wall loss rate of the odorants in the cells named."""

    _file: tuple[str, str] = PrivateAttr(default=("", ""))
    """Name and text that it was read from, so that a mistake found later is answered with its line too."""

    def located(self, key: str) -> str:
        """A key with the file and line that it stands on."""
        name, text = self._file
        # "sensors[1] (CO)" → sensors, 1
        location = tuple(key.split(" (")[0].replace("[", ".").replace("]", "").split("."))
        return f"{name}:{line_of(text, location)}: {key}" if text else f"{name}: {key}" if name else key

    def read_from(self, name: str, text: str) -> Self:
        """The same, which knows its file."""
        self._file = (name, text)
        return self


def load_simulation(path: str | Path) -> SimulationConfig:
    """Read a simulation file.

    >>> import pathlib, unmixnet as um
    >>> _ = pathlib.Path("nose.toml").write_text(um.example("enose"), encoding="utf-8")
    >>> um.load_simulation("nose.toml").run.duration_s
    180.0
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"a {type(path).__name__} was given, expected a path", remedy="Give the path of a TOML file")
    path = Path(path)
    text = read_text(path)
    config = parse_simulation(text, name=str(path))
    start = config.run.start
    if start.endswith(".npz"):
        run = config.run.model_copy(update={"start": str(path.parent / start)})
        return config.model_copy(update={"run": run})
    return config


def parse_simulation(text: str | Mapping[str, Any], *, name: str = "<text>") -> SimulationConfig:
    """Parse and check the text of a simulation file, or the same tables as a dictionary.

    >>> import unmixnet as um
    >>> um.parse_simulation(um.example("enose")).run.tolerance
    0.0001
    >>> tables = {"species": {"gases": ["H2", "N2"]}, "run": {"duration_s": 60}}
    >>> um.parse_simulation(tables).species.names
    ('H2', 'N2')
    >>> um.parse_simulation("chambre = 3")
    Traceback (most recent call last):
    unmixnet.errors.ConfigError: ...
    """
    if isinstance(text, Mapping):
        return check_values(dict(text), SimulationConfig, name=name)
    if not isinstance(text, str):
        raise ConfigError(f"a {type(text).__name__} was given, expected text", where=name, remedy="Give TOML as text")
    return parse_toml(text, SimulationConfig, name=name).read_from(name, text)
