"""Laws of mixtures and recordings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.errors import UnmixError
from unmixnet.recordings.codes import ChannelHealth
from unmixnet.recordings.recording import Mixture, Recording


def recording(T: int = 5, M: int = 3) -> Recording:
    return Recording(
        time_s=np.arange(T, dtype=float),
        readings=np.arange(T * M, dtype=float).reshape(T, M),
        channels=tuple("ABCDEF"[:M]),
        units=("counts",) * M,
        sample_rate_Hz=1.0,
        device="made up",
        path="a/b.csv",
        label=None,
        health=(ChannelHealth.OK,) * M,
    )


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_parts_in_any_scale_become_ratios_on_the_simplex(parts: list[float]):
    mixture = Mixture.from_parts([f"s{i}" for i in range(len(parts))], parts)
    assert sum(mixture.ratios) == pytest.approx(1.0, abs=1e-12)
    assert all(ratio >= 0 for ratio in mixture.ratios)
    assert mixture.raw_sum == pytest.approx(sum(parts))


def test_thirds_written_as_33_remember_that_they_summed_to_99():
    mixture = Mixture.from_parts(["a", "b", "c"], [33, 33, 33])
    assert mixture.raw_sum == 99
    assert mixture.ratios == pytest.approx([1 / 3] * 3)


def test_the_vector_has_the_order_of_the_components_and_zeros_elsewhere():
    mixture = Mixture.from_parts(["clove", "almond"], [80, 20])
    np.testing.assert_allclose(mixture.vector(["almond", "banana", "clove"]), [0.2, 0.0, 0.8])


def test_the_vector_refuses_components_that_lack_a_substance_of_the_mixture():
    with pytest.raises(UnmixError, match="clove"):
        Mixture(("clove",), (1.0,)).vector(["almond"])


def test_the_support_leaves_out_substances_with_no_share():
    assert Mixture(("a", "b"), (1.0, 0.0)).support == {"a"}


@pytest.mark.parametrize(
    ("names", "ratios"),
    [
        (("a",), (0.5,)),
        (("a", "b"), (1.5, -0.5)),
        (("a", "a"), (0.5, 0.5)),
        ((), ()),
        (("a",), (float("nan"),)),
    ],
)
def test_what_is_not_on_the_simplex_is_no_mixture(names, ratios):
    with pytest.raises(UnmixError):
        Mixture(names, ratios)


def test_the_arrays_of_a_recording_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        recording().readings[0, 0] = 1.0


def test_selecting_channels_keeps_names_units_and_columns_together():
    chosen = recording().select(["C", "A"])
    assert chosen.channels == ("C", "A")
    np.testing.assert_array_equal(chosen.column("C"), recording().readings[:, 2])


def test_an_unknown_channel_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UnmixError, match="A, B, C"):
        recording().column("Z")


def test_a_recording_with_a_name_too_few_is_refused():
    whole = recording()
    with pytest.raises(UnmixError):
        Recording(whole.time_s, whole.readings, ("A",), whole.units, 1.0, "", "", None, whole.health)
