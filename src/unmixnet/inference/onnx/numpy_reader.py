"""Use an exported model with onnxruntime and numpy alone: copy this file, it imports nothing of unmixnet.

python numpy_reader.py MODEL.onnx RECORDING.csv [RATE_HZ]

RECORDING.csv has a header with the model's channels (a unit in brackets is ignored) and, unless a rate is given, a time
column: time_s or timestamp_ms. Prints one JSON object: shares and presence by component; with a solver also how far the
reconstructed trace is from the measured one.
"""

import csv
import json
import sys
from typing import Any

import numpy as np

__all__ = ["answer", "known_of", "read_csv", "windows_of"]

FULL_SCALE = 1023.0
"""Counts of a 10-bit converter."""


def known_of(session: Any) -> dict[str, Any]:
    """The metadata of a file; keys without their prefix."""
    metadata = session.get_modelmeta().custom_metadata_map
    text = ("format", "bundle", "digest", "use")
    short = {key.removeprefix("unmixnet."): value for key, value in metadata.items()}
    return {key: value if key in text else json.loads(value) for key, value in short.items()}


def read_csv(path: str, channels: list[str], rate_Hz: float | None = None) -> tuple[np.ndarray, float]:
    """Readings (rows, channels) and their rate."""
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    names = [name.split("[")[0].strip() for name in header]
    table = np.array(rows, float)
    if rate_Hz is None:
        unit = {"time_s": 1.0, "timestamp_ms": 1e-3}
        column = next(name for name in names if name in unit)
        rate_Hz = 1 / float(np.median(np.diff(table[:, names.index(column)] * unit[column])))
    return table[:, [names.index(name) for name in channels]], rate_Hz


def windows_of(readings: np.ndarray, rate_Hz: float, known: dict[str, Any]) -> np.ndarray:
    """Windows (n, T, M) of the standardised signal, as the model was trained on it."""
    ready = known["preprocessing"]
    if ready["low_pass_Hz"] or ready["high_pass_Hz"] or ready["lags"] or ready["baseline"] == "reference":
        raise SystemExit(
            "this model needs a filter, lags or a device's reference, which this example does not implement"
        )
    readings = readings[: ready["first_rows"]]
    rows = max(int(np.ceil(ready["baseline_s"] * rate_Hz - 1e-9)), 1)
    baseline = None if ready["baseline"] == "none" else readings[:rows].mean(axis=0)
    signal = respond(readings, baseline, ready["response"])
    if ready["standardise"]:
        signal = (signal - ready["mean"]) / ready["sd"]
    signal = resample(signal, rate_Hz, known["rate_Hz"])
    T = known["window"]
    starts = range(0, len(signal) - T + 1, known["stride"])
    if not starts:
        raise SystemExit(f"the recording has {len(signal)} rows at {known['rate_Hz']} Hz, the model needs {T}")
    return np.stack([signal[start : start + T] for start in starts]).astype(np.float32)


def respond(y: np.ndarray, b: np.ndarray | None, response: str) -> np.ndarray:
    """Readings y compared with a baseline b."""
    if response == "log-conductance":
        return logit(y) if b is None else logit(y) - logit(b)
    if b is None:
        return y
    if response == "level":
        return y - b
    return (y - b) / (np.abs(b) + 1e-9) if response == "relative" else np.log((y + 1e-9) / (b + 1e-9))


def logit(counts: np.ndarray) -> np.ndarray:
    """ln(counts / (full scale − counts)), half a count inside the rails."""
    inside = np.clip(counts, 0.5, FULL_SCALE - 0.5)
    return np.log(inside / (FULL_SCALE - inside))


def resample(signal: np.ndarray, rate_Hz: float, target_Hz: float) -> np.ndarray:
    """Means of blocks of rows; straight lines where the rates do not divide or more rows are needed."""
    block, whole = rate_Hz / target_Hz, np.arange(len(signal))
    if 1 / 1.05 <= block <= 1 + 1e-9:
        return signal
    if block > 1 and abs(block - round(block)) < 0.02:
        rows = len(signal) // round(block)
        return signal[: rows * round(block)].reshape(rows, round(block), -1).mean(axis=1)
    rows = int(len(signal) / block) if block > 1 else int((len(signal) - 1) / block) + 1
    return np.stack([np.interp(np.arange(rows) * block, whole, column) for column in signal.T], axis=1)


def answer(session: Any, windows: np.ndarray) -> dict[str, Any]:
    """The answer for a recording: means over its windows, then temperature and support."""
    known = known_of(session)
    names = [output.name for output in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, {"signal": windows}), strict=True))
    ratios = outputs["ratios"].astype(float)
    mean = (ratios / ratios.sum(axis=1, keepdims=True)).mean(axis=0)
    finish = known["finish"]
    shares = np.maximum(mean, 1e-12) ** (1 / finish["temperature"])
    shares = shares / shares.sum()
    shares = np.where((shares >= finish["support"]) | (shares >= shares.max()), shares, 0)
    means = {"shares": shares / shares.sum(), "presence": outputs["presence"].mean(axis=0)}
    result: dict[str, Any] = {
        key: dict(zip(known["components"], map(float, value), strict=True)) for key, value in means.items()
    }
    if "reconstructed" in outputs:
        left = windows[:, known["reconstructed_rows"]] - outputs["reconstructed"]
        result["fit"] = float(np.sqrt(np.mean(left.astype(float) ** 2)))
        result["unsolved"] = int(outputs["direct_solves"].sum())
    return result


if __name__ == "__main__":
    import onnxruntime

    opened = onnxruntime.InferenceSession(sys.argv[1])
    about = known_of(opened)
    read = read_csv(sys.argv[2], about["channels"], float(sys.argv[3]) if len(sys.argv) > 3 else None)
    print(json.dumps(answer(opened, windows_of(*read, about))))
