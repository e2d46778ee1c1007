"""Made-up answers that look like those of a trained model: a small NumPy chamber stands in for the solver."""

import dataclasses

import numpy as np

from unmixnet.inference.report import Answer, ClosureReport, States, Verdict
from unmixnet.recordings.labels import COMPONENTS
from unmixnet.simulation.builders import portable_enose

CLOSED = ClosureReport(flux_residual=2.4e-16, mass_error=3.1e-16, simplex_error=4.4e-16, flux_sum=1.2e-17)
FINDINGS = (
    "The first 4 s were taken as clean air; the recording carries no mark of its own.",
    "Channel CO reached the top of the converter (1023 counts) between 31 s and 34 s.",
)
NOTE = "Quantiles of 64 posterior draws, widened on the validation recordings until nine of ten held the truth."


def made_up(
    ratios: np.ndarray | None = None,
    components: tuple[str, ...] = COMPONENTS,
    channels: tuple[str, ...] = ("NO2", "C2H5OH", "VOC", "CO"),
    *,
    seed: int = 0,
    **changes: object,
) -> Answer:
    """An answer for a mixture of 62 % strawberry, 30 % mango and a little clove, or for the given shares."""
    rng = np.random.default_rng(seed)
    if ratios is None:
        ratios = _named_shares(components, {"strawberry": 0.62, "mango": 0.30, "clove": 0.05})
    states, signal = _chamber(ratios, components, channels, rng)
    offset, gain = rng.uniform(300, 500, len(channels)), rng.uniform(150, 320, len(channels))
    truth = offset + gain * signal
    late = 1 + rng.normal(0, 0.04, len(channels))
    reconstructed = offset + gain * late * np.vstack([signal[:1].repeat(12, axis=0), signal[:-12]])
    spread = np.minimum(0.02 + 0.28 * np.sqrt(ratios * (1 - ratios)), 0.5)
    n = 24
    wobble = np.maximum(ratios + rng.normal(0, 0.25 / np.sqrt(1 + np.arange(n)), (len(ratios), n)).T * spread, 1e-4)
    answer = Answer(
        recording="kitchen/strawberry_mango_2026-11-15.csv",
        model="smellnet-mixture",
        model_digest="9f2c41d07be8a35514c6e0b7d2f8a1936f5e44b0c7a2190d8e3b6f7a5c1d2e4f",
        verdict=Verdict.MIXTURE,
        components=components,
        ratios=ratios,
        low=np.clip(ratios - 0.75 * spread, 0, 1),
        high=np.clip(ratios + 0.8 * spread, 0, 1),
        presence=np.clip(1 - np.exp(-40 * ratios), 0.004, 0.999),
        strength=1.38,
        background=0.09,
        novelty=0.41,
        fit=0.12,
        channels=channels,
        unit="counts",
        time_s=states.time_s,
        measured=np.round(truth + rng.normal(0, 2.5, truth.shape)),
        reconstructed=reconstructed,
        window_time_s=np.linspace(5, 58, n),
        window_ratios=wobble / wobble.sum(axis=1, keepdims=True),
        states=states,
        closure=CLOSED,
        findings=FINDINGS,
        confidence_note=NOTE,
    )
    return dataclasses.replace(answer, **changes)


def empty() -> Answer:
    """An answer with no component, channel, sample, window, cell or edge."""
    none, nobody = np.zeros(0), np.zeros((0, 0))
    cube = np.zeros((0, 0, 0))
    states = States((), (), none, cube, cube, cube)
    return dataclasses.replace(
        made_up(),
        components=(),
        channels=(),
        findings=(),
        states=states,
        confidence_note="",
        **dict.fromkeys(("ratios", "low", "high", "presence", "time_s", "window_time_s"), none),
        **dict.fromkeys(("measured", "reconstructed", "window_ratios"), nobody),
    )


def nothing() -> Answer:
    """Clean air."""
    flat = np.full(12, 1 / 12)
    calm = made_up(flat, low=np.zeros(12), high=np.full(12, 0.4), presence=np.full(12, 0.11))
    air = calm.measured.mean(axis=0)
    faint = dataclasses.replace(calm.states, concentration_ppm=0.02 * calm.states.concentration_ppm)
    noise = np.random.default_rng(3).normal(0, 1.5, calm.measured.shape)
    return dataclasses.replace(
        calm,
        verdict=Verdict.NOTHING,
        strength=0.03,
        states=faint,
        measured=np.round(air + noise),
        reconstructed=air + 0 * noise,
    )


def unlike() -> Answer:
    """Something that no training recording resembles."""
    odd = made_up(seed=4)
    drift = 90 * np.sin(odd.time_s / 9)[:, None] * np.array([1, -1, 0.6, -0.4])
    return dataclasses.replace(odd, verdict=Verdict.UNLIKE, novelty=0.002, fit=1.3, measured=odd.measured + drift)


def _named_shares(components: tuple[str, ...], given: dict[str, float]) -> np.ndarray:
    rest = (1 - sum(given.values())) / (len(components) - len(given))
    return np.array([given.get(name, rest) for name in components])


def _chamber(
    ratios: np.ndarray, components: tuple[str, ...], channels: tuple[str, ...], rng: np.random.Generator
) -> tuple[States, np.ndarray]:
    """Upwind flow, Fick's diffusion and Langmuir coverage in the portable e-nose, 60 s at 10 Hz."""
    enose, K, M = portable_enose(), len(components), len(channels)
    dt, steps, c_total = 0.1, 600, 40.0
    volume, flow, tail, head = enose.volume_m3, enose.flow_m3_s, enose.tail, enose.head
    length = np.array([edge.length_m for edge in enose.edges])
    area = np.array([edge.area_m2 for edge in enose.edges])
    D = rng.uniform(6e-6, 1.1e-5, K)
    rise, decay = rng.uniform(2, 9, K), rng.uniform(20, 60, K)
    k_on, k_off = rng.uniform(0.002, 0.012, (M, K)), rng.uniform(0.03, 0.12, (M, K))
    weight = rng.uniform(0.4, 1.2, (M, K)) * np.where(np.arange(M) == 0, -1, 1)[:, None]
    seats = [2 + m % 4 for m in range(M)]
    x, theta = np.zeros((8, K)), np.zeros((M, K))
    saved: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for step in range(steps):
        age = max(dt * step - 4, 0)
        x[0] += dt * 14 * ratios * (1 - np.exp(-age / rise)) * np.exp(-age / decay) * (age > 0)
        J = D * (x[tail] - x[head]) / length[:, None]
        moved = dt * (area[:, None] * J + flow[:, None] * x[tail])
        np.add.at(x, tail, -moved / volume[tail][:, None])
        np.add.at(x, head, moved / volume[head][:, None])
        x[7] -= dt * 2e-6 / volume[7] * x[7]
        x[0] -= dt * 2e-6 / volume[0] * x[0]
        theta = theta + dt * (k_on * x[seats] * (1 - theta.sum(1, keepdims=True)) - k_off * theta)
        saved.append((x.copy(), 1e-6 * c_total * J, theta.copy()))
    ppm, flux, coverage = (np.array(part) for part in zip(*saved, strict=True))
    names = tuple(f"{edge.tail} → {edge.head}" for edge in enose.edges)
    cells = tuple(cell.name for cell in enose.cells)
    seated = tuple(cells[v] for v in seats)
    states = States(cells, names, dt * np.arange(steps), ppm, flux, coverage, seated)
    return states, np.einsum("tmk,mk->tm", coverage, weight)
