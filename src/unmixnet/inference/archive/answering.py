"""Rows of the output: what the model says of each window by itself."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from unmixnet.inference.archive.trouble import Trouble
from unmixnet.inference.archive.windows import Window
from unmixnet.inference.bundle.bundle import Bundle
from unmixnet.inference.evidence import Evidence, evidence_of, presence_of, residuals
from unmixnet.inference.unmix import solver_of, verdict_of
from unmixnet.inference.windows import encode, reconstruct

__all__ = ["BATCH", "Answerer"]

BATCH = 128
"""Windows that are answered together: several of the compiled programs' fixed batches."""


class Answerer:
    """A bundle that answers windows; its programs are compiled with the first batch and serve all that follow."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle, self.model = bundle, solver_of(bundle)

    @cached_property
    def schema(self) -> Any:
        """Columns of the output, and in its metadata who answered."""
        import pyarrow as pa

        each = [f"{what}_{name}" for what in ("ratio", "low", "high", "presence") for name in self.bundle.components]
        fields = [pa.field(name, pa.string()) for name in ("file", "recording")]
        fields += [pa.field(name, pa.float64()) for name in ("start_s", "end_s")]
        fields += [pa.field("verdict", pa.string())]
        fields += [pa.field(name, pa.float32()) for name in ("strength", "novelty", *each)]
        return pa.schema(fields, {"model": self.bundle.name, "digest": self.bundle.digest})

    def __call__(self, windows: Sequence[Window]) -> tuple[Any, list[Trouble]]:
        """A table with a row for each window, but for those that have no finite answer."""
        import pyarrow as pa

        evidence = self._evidence(np.stack([window.signal for window in windows]))
        sound = [np.all(np.isfinite(one.ratios)) and np.all(np.isfinite(one.embedding)) for one in evidence]
        lost = [_lost(window) for window, good in zip(windows, sound, strict=True) if not good]
        windows = [window for window, good in zip(windows, sound, strict=True) if good]
        evidence = [one for one, good in zip(evidence, sound, strict=True) if good]
        columns = {name: [getattr(window, name) for window in windows] for name in ("file", "recording")}
        columns |= {name: np.array([getattr(w, name) for w in windows], float) for name in ("start_s", "end_s")}
        return pa.table(columns | self._judged(evidence), schema=self.schema), lost

    def _evidence(self, Y: np.ndarray) -> list[Evidence]:
        inference = encode(self.model, Y)
        a, h, z = np.asarray(inference.a), np.asarray(inference.h_Y), presence_of(inference)
        left = residuals(self.model, Y, reconstruct(self.model, inference, Y))
        air, sign = self.bundle.air, self.bundle.sign
        return [
            evidence_of(Y[i : i + 1], a[i : i + 1], z[i : i + 1], h[i : i + 1], left[i : i + 1], air=air, sign=sign)
            for i in range(len(Y))
        ]

    def _judged(self, evidence: Sequence[Evidence]) -> dict[str, Any]:
        calibration, K = self.bundle.calibration, len(self.bundle.components)
        novelty = calibration.novelty
        shares = calibration.finish(np.array([one.ratios[0] for one in evidence]).reshape(-1, K))
        low, high = calibration.intervals.of(shares)
        presence = np.array([np.asarray(one.presence)[0] for one in evidence]).reshape(-1, K)
        strange = [float("nan") if novelty is None else novelty.p_value(novelty.score(one)) for one in evidence]
        columns: dict[str, Any] = {
            "verdict": [verdict_of(self.bundle, one).value for one in evidence],
            "strength": np.array([calibration.background.strength(one) for one in evidence], np.float32),
            "novelty": np.array(strange, np.float32),
        }
        for what, values in (("ratio", shares), ("low", low), ("high", high), ("presence", presence)):
            for k, name in enumerate(self.bundle.components):
                columns[f"{what}_{name}"] = values[:, k].astype(np.float32)
        return columns


def _lost(window: Window) -> Trouble:
    reason = (
        f"the model gives no finite answer from {window.start_s:.6g} s to {window.end_s:.6g} s. "
        "Check the readings with `unmixnet check`."
    )
    return Trouble(window.file, None, "refused", reason)
