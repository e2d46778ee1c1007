"""Windows are put together to one trace without gaps, overlaps or shifts."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.inference.reconstruction import closure_of, solver_failures, stitch, stitch_starts
from unmixnet.physics.state import Status


@given(st.integers(3, 40), st.integers(0, 120), st.integers(1, 4))
def test_the_stitched_rows_are_every_step_of_the_recording(window, more, stride):
    length = window + more
    starts = stitch_starts(length, window, stride)
    steps = (window - 1) // stride
    if steps == 0:
        return
    assert starts[0] == 0 and starts[-1] + window <= length
    at = np.array([s + stride * np.arange(1, steps + 1) for s in starts], float)
    whole = stitch(starts, at[..., None], stride)
    np.testing.assert_array_equal(whole.rows, stride * np.arange(1, len(whole.rows) + 1))
    np.testing.assert_array_equal(whole.y[:, 0], whole.rows)
    assert length - whole.rows[-1] <= 2 * stride


def test_twin_a_shifted_window_is_seen():
    starts, at = [0, 6], np.array([[1, 2, 3, 4, 5, 6], [8, 9, 10, 11, 12, 13]], float)
    whole = stitch(starts, at[..., None], 1)
    assert not np.array_equal(whole.y[:, 0], whole.rows)


def rollout(status: list[int], J: np.ndarray) -> SimpleNamespace:
    n = len(status)
    closure = SimpleNamespace(
        ms_residual=np.full((n, 2), 1e-7), mass_error=np.full((n, 2), 2e-7), simplex_error=np.zeros((n, 2))
    )
    return SimpleNamespace(status=np.array(status), failed_at=np.arange(n), saved=SimpleNamespace(J=J, closure=closure))


def test_failed_windows_are_told_with_time_and_cause():
    run = rollout([0, int(Status.LIMITED), int(Status.DIVERGED)], np.zeros((3, 2, 2, 1)))
    (told,) = solver_failures(run, np.array([0.0, 10.0, 20.0]), 0.5)  # pyright: ignore[reportArgumentType]
    assert told == "The solver stopped 1 s after 20.0 s: a state left the finite numbers."


def test_the_net_flux_is_relative_to_the_fluxes():
    J = np.array([[[[1.0, 2.0], [-1.0, -1.0], [0.0, -0.9]]]])
    report = closure_of(rollout([0], J))  # pyright: ignore[reportArgumentType]
    assert report.flux_sum == pytest.approx(0.1 / 3.9) and report.mass_error == 2e-7
    assert closure_of(rollout([0], np.zeros((1, 1, 3, 2)))).flux_sum == 0  # pyright: ignore[reportArgumentType]
