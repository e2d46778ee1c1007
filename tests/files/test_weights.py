"""Arrays come back bit for bit, and their fingerprint tells every difference and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unmixnet.files import ArtefactError, fingerprint
from unmixnet.files.tensors import DTYPES, pack_tensors, unpack_tensors

from .bundles import bundle


def same(a: dict, b: dict) -> bool:
    """Equal names, types, shapes and bits."""
    return a.keys() == b.keys() and all(
        (a[k].dtype.name, a[k].shape, a[k].tobytes()) == (b[k].dtype.name, b[k].shape, b[k].tobytes()) for k in a
    )


@pytest.mark.parametrize("dtype", DTYPES)
@given(data=st.data())
def test_every_bit_comes_back(dtype: str, data):
    tensors = {"a": data.draw(arrays(dtype, (2, 3))), "b": data.draw(arrays(dtype, ()))}
    assert same(unpack_tensors(pack_tensors(tensors), "weights"), tensors)


LAYOUTS = {
    "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(6.0).reshape(3, 2).T,
    "every other": np.arange(12.0)[::2],
    "backwards": np.arange(6)[::-1],
    "big-endian": np.arange(6, dtype=">f8"),
    "broadcast": np.broadcast_to(np.float32(3), (4, 2)),
    "scalar": np.array(2.0),
    "empty": np.zeros((3, 0, 2)),
}


@pytest.mark.parametrize("array", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_the_layout_in_memory_does_not_matter(array: np.ndarray):
    plain = np.array(array.tolist(), array.dtype.newbyteorder("=")).reshape(array.shape)
    restored = unpack_tensors(pack_tensors({"a": array}), "weights")["a"]
    assert restored.shape == array.shape and restored.dtype == plain.dtype
    np.testing.assert_array_equal(restored, plain)
    assert fingerprint({"a": array}) == fingerprint({"a": plain})
    assert pack_tensors({"a": array}) == pack_tensors({"a": plain})


def test_the_order_of_the_mapping_does_not_matter():
    tensors = bundle().tensors
    backwards = dict(reversed(tensors.items()))
    assert pack_tensors(tensors) == pack_tensors(backwards)
    assert fingerprint(tensors) == fingerprint(backwards)
    assert list(unpack_tensors(pack_tensors(tensors), "weights")) == sorted(tensors)


W = np.arange(6, dtype=np.float32)
DIFFERENT = {
    "another name": {"v": W},
    "another type": {"w": W.view(np.int32)},
    "another shape": {"w": W.reshape(2, 3)},
    "one bit": {"w": np.nextafter(W, np.float32(9))},
    "the sign of zero": {"w": np.where(W == 0, np.float32(-0.0), W)},
    "one more": {"w": W, "x": np.zeros(0, np.float32)},
    "split in two": {"w": W[:3], "x": W[3:]},
    "nothing": {},
}


@pytest.mark.parametrize("other", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_the_fingerprint_tells_every_difference(other: dict):
    assert fingerprint(other) != fingerprint({"w": W})
    assert fingerprint({"w": W.copy()}) == fingerprint({"w": W})


def test_the_fingerprint_stays_the_same_between_releases():
    expected = "d4d84a8c44a7ac86e272764a8402192040493a565267bdd2f56edb82a4210a8c"
    assert fingerprint({"w": W, "n": np.array(3)}) == expected


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": np.zeros(2, np.float16)},
        {"a": np.zeros(2, complex)},
        {"a": np.array(["text"])},
        {"a": np.array([object()])},
        {"a": np.zeros(2, "datetime64[s]")},
        {"a": np.zeros(2, [("x", "f4")])},
        {3: np.zeros(2)},
        {"": np.zeros(2)},
        {"a\n": np.zeros(2)},
        {"\ud800": np.zeros(2)},
        {"__metadata__": np.zeros(2)},
        {"a" * 600: np.zeros(2)},
        {"a": np.zeros((1,) * 20)},
    ],
    ids=lambda tensors: ascii(next(iter(tensors)))[:20],
)
def test_what_cannot_be_read_again_is_not_written(tensors: dict):
    with pytest.raises(ArtefactError) as caught:
        pack_tensors(tensors)
    assert caught.value.where == "weights.safetensors" and "Copy the artefact" not in caught.value.remedy
