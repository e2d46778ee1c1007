""".osmell files come back as they were written, are those of the OpenSmell format, and hostile ones are refused."""

import io
import json
import stat
import struct
import tracemalloc
import zipfile
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmixnet.errors import UnmixError
from unmixnet.examples import example_recording
from unmixnet.recordings.formats import osmell_manifest as osmell_zip
from unmixnet.recordings.formats.osmell import OsmellError, OsmellEvent, osmell_bytes, read_osmell
from unmixnet.recordings.reader import read_recording
from unmixnet.recordings.recording import ChannelHealth, Mixture, Recording

MANIFEST = {
    "osmell": {"formatVersion": "1.0.0"},
    "sensor": {"sensorType": "mox", "channels": [{"id": "VOC", "unit": "adc"}, {"id": "NO2", "unit": ""}]},
    "session": {"role": "exposure", "label": "coffee"},
}
TABLE = "timestamp_ms,VOC,NO2\n" + "".join(f"{100 * row},{row},{2 * row}\n" for row in range(30))


def zipped(members: dict[str, object] | list[tuple[str, object]]) -> bytes:
    """A ZIP of texts, bytes, or values that become JSON; a list may hold a name twice."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return buffer.getvalue()


def sound(**changed: object) -> dict[str, object]:
    names = {"manifest": "manifest.json", "data": "data.csv", "events": "events.json"}
    members: dict[str, object] = {"manifest.json": MANIFEST, "data.csv": TABLE}
    return members | {names.get(key, key): value for key, value in changed.items()}


def made(readings: np.ndarray, channels: tuple[str, ...], units: tuple[str, ...]) -> Recording:
    health = (ChannelHealth.OK,) * len(channels)
    label = Mixture.from_parts(["almond", "2-butanone"], [33, 66])
    return Recording(np.arange(len(readings)) / 10, readings, channels, units, 10.0, "my board", "x", label, health)


# ---------------------------------------------------------------- sound files


def test_what_is_written_comes_back(tmp_path):
    readings = np.round(300 + 9 * np.random.default_rng(0).normal(size=(50, 3)), 3)
    readings[4, 1] = np.nan
    recording = made(readings, ("NO2", "MOX 1 <b>", "Temperature"), ("counts", "kOhm", "degC"))
    events = (OsmellEvent("jar opened", 1.5, note="by hand"), OsmellEvent("exposure", 2.0, 4.25))
    path = tmp_path / "a.osmell"
    path.write_bytes(osmell_bytes(recording, events))
    found = read_osmell(path)
    np.testing.assert_array_equal(found.recording.readings, readings)
    np.testing.assert_allclose(found.recording.time_s, recording.time_s, atol=1e-9)
    assert found.recording.channels == recording.channels and found.recording.units == recording.units
    assert found.recording.label == recording.label and found.recording.device == "my board"
    assert found.events == events


def test_the_packaged_recording_survives_the_journey():
    known = read_recording(example_recording())
    again = read_osmell(osmell_bytes(known)).recording
    np.testing.assert_array_equal(again.readings, known.readings)
    assert again.sample_rate_Hz == pytest.approx(known.sample_rate_Hz)


def test_the_manifest_is_that_of_the_format():
    """Names of OpenSmell 1.0; its readers refuse a manifest whose channels are context, such as the temperature."""
    recording = made(np.ones((30, 2)), ("VOC", "Temperature"), ("counts", "degC"))
    raw = osmell_bytes(recording, recorded=datetime(2026, 1, 2, tzinfo=UTC), notes="a note")
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        head = archive.read("data.csv").decode().splitlines()[0]
    assert sorted(archive.namelist()) == ["data.csv", "events.json", "manifest.json"]
    assert manifest["osmell"] == {"formatVersion": "1.0.0"}
    assert manifest["sensor"]["channels"] == [{"id": "VOC", "unit": "counts"}]
    assert manifest["sensor"]["timeColumn"] == "timestamp_ms" and head == "timestamp_ms,VOC,Temperature"
    assert manifest["session"]["durationMs"] == 2900 and manifest["session"]["recordedAt"].startswith("2026-01-02")


def test_a_file_of_another_program_is_read():
    found = read_osmell(zipped(sound(events=[{"label": "start", "startMs": 1500}])))
    assert found.recording.channels == ("VOC", "NO2") and found.recording.units == ("counts", "unknown")
    assert found.recording.label == Mixture(("coffee",), (1.0,))
    assert found.recording.time_s[-1] == 2.9 and found.events == (OsmellEvent("start", 1.5),)


def test_time_may_be_in_seconds():
    manifest = MANIFEST | {"sensor": MANIFEST["sensor"] | {"timeColumn": "time_s"}}
    found = read_osmell(zipped(sound(manifest=manifest, data=TABLE.replace("timestamp_ms", "time_s"))))
    assert found.recording.time_s[-1] == 2900.0


def test_a_file_whose_context_another_program_left_out_is_read():
    ours = {"context": [{"id": "Temperature", "unit": "degC"}]}
    found = read_osmell(zipped(sound(manifest=MANIFEST | {"unmixnet": ours})))
    assert found.recording.channels == ("VOC", "NO2")


# ---------------------------------------------------------------- hostile files


def bomb(name: str = "data.csv") -> bytes:
    return zipped(sound(**{name: b"0" * (osmell_zip.LARGEST[name] + 1)}))


def lying_bomb() -> bytes:
    """A member that claims to be short and is not."""
    raw = bytearray(zipped(sound(data="timestamp_ms,VOC,NO2\n" + "1,2,3\n" * 100_000)))
    at = raw.rindex(b"PK\x01\x02", 0, raw.rindex(b"data.csv"))
    raw[at + 24 : at + 28] = struct.pack("<I", 40)
    return bytes(raw)


def link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in (("manifest.json", json.dumps(MANIFEST)), ("data.csv", "/etc/passwd")):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK if name == "data.csv" else stat.S_IFREG) << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def encrypted() -> bytes:
    raw = bytearray(zipped(sound()))
    at = raw.rindex(b"PK\x01\x02")
    raw[at + 8] |= 1
    return bytes(raw)


def twice(name: str) -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return zipped([*sound().items(), (name, MANIFEST)])


HOSTILE = {
    "not-a-zip": lambda: b"PK\x03\x04 but no more",
    "nothing": lambda: b"",
    "no-manifest": lambda: zipped({"data.csv": TABLE}),
    "no-data": lambda: zipped({"manifest.json": MANIFEST}),
    "bomb": bomb,
    "manifest-bomb": lambda: bomb("manifest.json"),
    "lying-bomb": lying_bomb,
    "many-members": lambda: zipped(sound(**{f"x{i}": "y" for i in range(40)})),
    "twice-manifest": lambda: twice("manifest.json"),
    "twice-data": lambda: twice("data.csv"),
    "traversal": lambda: zipped(sound(**{"../../evil.txt": "x"})),
    "absolute": lambda: zipped(sound(**{"/etc/passwd": "x"})),
    "backslash": lambda: zipped(sound(**{"..\\evil.txt": "x"})),
    "drive": lambda: zipped(sound(**{"C:evil.txt": "x"})),
    "link": link,
    "encrypted": encrypted,
    "manifest-is-a-list": lambda: zipped(sound(manifest=[1])),
    "manifest-is-deep": lambda: zipped(sound(manifest="[" * 5000 + "]" * 5000)),
    "manifest-is-no-json": lambda: zipped(sound(manifest="{")),
    "manifest-has-nan": lambda: zipped(sound(manifest='{"sensor": NaN}')),
    "manifest-twice-a-key": lambda: zipped(sound(manifest='{"sensor": {}, "sensor": {}}')),
    "manifest-not-utf8": lambda: zipped(sound(manifest=b"\xff\xfe{}")),
    "version-2": lambda: zipped(sound(manifest=MANIFEST | {"osmell": {"formatVersion": "2.0"}})),
    "version-number": lambda: zipped(sound(manifest=MANIFEST | {"osmell": {"formatVersion": 1}})),
    "channels-text": lambda: zipped(sound(manifest=MANIFEST | {"sensor": {"channels": "VOC"}})),
    "channels-none": lambda: zipped(sound(manifest=MANIFEST | {"sensor": {"channels": []}})),
    "channels-twice": lambda: zipped(sound(manifest=MANIFEST | {"sensor": {"channels": [{"id": "VOC"}] * 2}})),
    "channel-number": lambda: zipped(sound(manifest=MANIFEST | {"sensor": {"channels": [{"id": 7}]}})),
    "channel-absent": lambda: zipped(sound(manifest=MANIFEST | {"sensor": {"channels": [{"id": "CO"}]}})),
    "label-number": lambda: zipped(sound(manifest=MANIFEST | {"session": {"label": 7}})),
    "label-nonsense": lambda: zipped(sound(manifest=MANIFEST | {"unmixnet": {"label": {"names": 3, "ratios": 4}}})),
    "label-off": lambda: zipped(sound(manifest=MANIFEST | {"unmixnet": {"label": {"names": ["a"], "ratios": [2]}}})),
    "events-object": lambda: zipped(sound(events={})),
    "event-text": lambda: zipped(sound(events=["x"])),
    "event-no-time": lambda: zipped(sound(events=[{"label": "x"}])),
    "event-huge-time": lambda: zipped(sound(events='[{"label": "x", "startMs": 1' + "0" * 400 + "}]")),
    "event-bool-time": lambda: zipped(sound(events=[{"label": "x", "startMs": True}])),
    "data-empty": lambda: zipped(sound(data="")),
    "data-words": lambda: zipped(sound(data="timestamp_ms,VOC,NO2\na,b,c\n")),
    "data-ragged": lambda: zipped(sound(data=TABLE + "1,2,3,4,5\n")),
    "data-binary": lambda: zipped(sound(data=bytes(range(256)))),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_or_damaged_file_is_refused_by_name(kind):
    with pytest.raises(UnmixError) as refusal:
        read_osmell(HOSTILE[kind](), place="upload.osmell")
    assert "upload.osmell" in str(refusal.value)


def test_twin_the_sound_file_that_they_were_made_from_is_read():
    assert len(read_osmell(zipped(sound())).recording) == 30


def test_a_bomb_is_not_unpacked_to_find_out():
    raw = bomb()
    tracemalloc.start()
    with pytest.raises(OsmellError, match="unpacks to more"):
        read_osmell(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(raw) < 200_000 and peak < 5e6


def test_nothing_is_written_to_the_disk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnmixError):
        read_osmell(HOSTILE["traversal"]())
    read_osmell(zipped(sound()))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path):
    with pytest.raises(OsmellError, match=r"nothing\.osmell"):
        read_osmell(tmp_path / "nothing.osmell")


SOUND = zipped(sound(events=[{"label": "start", "startMs": 1500}]))


@given(st.integers(0, len(SOUND) - 1), st.integers(1, 255))
def test_any_damaged_byte_gives_the_same_readings_or_a_refusal(at, flip):
    raw = bytearray(SOUND)
    raw[at] ^= flip
    try:
        found = read_osmell(bytes(raw))
    except UnmixError:
        return
    np.testing.assert_array_equal(found.recording.readings, read_osmell(SOUND).recording.readings)
