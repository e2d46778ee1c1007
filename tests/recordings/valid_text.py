"""Sound recordings as text, from which the tests make damaged ones."""

import numpy as np

MIXTURE_HEADER = "timestamp_ms,NO2,C2H5OH,VOC,CO"
BASE_HEADER = "NO2,C2H5OH,VOC,CO,Alcohol,LPG,Benzene,Temperature,Pressure,Humidity,Gas_Resistance,Altitude"
UCI_HEADER = "Time (seconds), CO conc (ppm), Ethylene conc (ppm), sensor readings (16 channels)"


def mixture_rows(rows: int = 40, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(300, 900, (rows, 4))
    return [f"{100 * t}.0," + ",".join(map(str, row)) for t, row in enumerate(counts)]


def base_rows(rows: int = 40, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    table = []
    for _ in range(rows):
        counts = rng.integers(200, 900, 6)
        climate = np.round(rng.normal([25, 1010, 40, 60, 12], 0.5), 2)
        table.append(",".join(map(str, [*counts, int(rng.integers(1, 9)), *climate])))
    return table


def mixture(rows: int = 40) -> list[str]:
    return [MIXTURE_HEADER, *mixture_rows(rows)]


def base(rows: int = 40) -> list[str]:
    return [BASE_HEADER, *base_rows(rows)]


def plotter(rows: int = 40, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"NO2:{a},CO:{b}" for a, b in rng.integers(10, 99, (rows, 2))]


def text(lines: list[str], end: str = "\n") -> bytes:
    return (end.join(lines) + end).encode()


def uci(rows: int, *, seed: int = 0, rate_Hz: float = 100.0) -> str:
    """Rows as in UCI 322: two decimals, columns parted by runs of spaces, a step of concentration."""
    rng = np.random.default_rng(seed)
    readings = 2000 + 20 * np.cumsum(rng.normal(size=(rows, 16)), axis=0)
    co = np.where(np.arange(rows) < rows // 2, 0.0, 66.67)
    lines = [
        f"{t / rate_Hz:.2f}    {co[t]:.2f}   0.00   " + "  ".join(f"{v:.2f}" for v in readings[t]) for t in range(rows)
    ]
    return "\n".join([UCI_HEADER, *lines]) + "\n"
