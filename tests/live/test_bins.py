"""Bins hold means of the samples between their ends, whatever the rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.live.windows import start_bins


@given(st.lists(st.floats(0.001, 3.0), min_size=12, max_size=12), st.integers(0, 2**32 - 1))
def test_a_bin_is_the_mean_of_its_samples(steps, seed):
    times = np.cumsum(steps) - steps[0]
    values = np.random.default_rng(seed).normal(size=(12, 2))
    values[values > 1.5] = np.nan
    bins = start_bins(200, 2, 2.0)
    for t, row in zip(times, values, strict=True):
        bins = bins.add(float(t), row, row)
    place = np.floor(times * 2 + 1e-6).astype(int)
    assert bins.closed == place[-1]
    for k in range(bins.closed):
        inside = values[place == k]
        for m in range(2):
            known = inside[np.isfinite(inside[:, m]), m]
            got = bins.g[k - bins.closed + 200, m]
            assert np.isnan(got) if not len(known) else got == pytest.approx(known.mean())
            if len(known):
                assert bins.first[k - bins.closed + 200, m] == known[0]


def test_a_gap_longer_than_the_memory_leaves_nothing():
    bins = start_bins(10, 1, 2.0).add(0.0, np.ones(1), np.ones(1)).add(1e6, np.ones(1), np.ones(1))
    assert bins.g.shape == (10, 1) and np.isnan(bins.g).all() and bins.closed == 2_000_000
    assert bins.kept == 10 and np.all(np.diff(bins.time_s) == 0.5)
