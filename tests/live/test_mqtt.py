"""A broker may be restarted; passwords are never shown; messages of unknown age are no samples."""

import asyncio

import pytest

from tests.live.broker import Broker, survive, until
from tests.live.faults import sound_line
from unmixnet.live.sample import Rejected, Sample, SourceError
from unmixnet.live.sources.mqtt import RETAINED, MqttSource, mqtt_address


@pytest.fixture
def broker(tmp_path):
    started = Broker(tmp_path)
    yield started
    started.kill()


def source_at(broker: Broker) -> MqttSource:
    return MqttSource(f"mqtt://127.0.0.1:{broker.port}/lab/enose", retry_s=0.05)


def test_lines_of_a_topic_are_samples_and_bad_ones_are_counted(broker):
    async def listen():
        source = source_at(broker)
        stream = source.stream()
        await until(stream, "connected")
        await broker.publish("lab/enose", sound_line(0), b"rubbish", sound_line(1) + b"\n" + sound_line(2))
        await broker.publish("lab/other", sound_line(3))
        return source, [await anext(stream) for _ in range(4)]

    source, items = asyncio.run(listen())
    assert [type(item) for item in items] == [Sample, Rejected, Sample, Sample]
    assert [item.values[0] for item in items if isinstance(item, Sample)] == [0, 1, 2]
    assert source.channels == ("MOX1", "MOX2", "MOX3", "MOX4")


def test_a_source_subscribes_again_when_the_broker_comes_back(broker):
    came_through, times = asyncio.run(survive(broker, source_at(broker), 2))
    assert came_through == 2 and times == sorted(times)


def test_a_message_that_the_broker_kept_is_no_sample(broker):
    async def listen():
        await broker.publish("lab/enose", sound_line(0), retain=True)
        stream = source_at(broker).stream()
        await until(stream, "connected")
        return await anext(stream)

    item = asyncio.run(listen())
    assert isinstance(item, Rejected) and item.reason == RETAINED


def test_a_broker_that_is_not_there_is_an_error_at_the_start(broker):
    broker.kill()

    async def listen():
        await anext(source_at(broker).stream())

    with pytest.raises(SourceError, match="does not answer"):
        asyncio.run(listen())


# ---------------------------------------------------------------- addresses


def test_an_address_is_taken_apart_and_its_password_hidden():
    address = mqtt_address("mqtts://me:s%40cret@broker.lan/lab/enose")
    assert (address.host, address.port, address.topic, address.secure) == ("broker.lan", 8883, "lab/enose", True)
    assert (address.user, address.password) == ("me", "s@cret")
    source = MqttSource("mqtt://me:secret@broker.lan:1884/lab/enose")
    assert source.name == "topic lab/enose at broker.lan:1884" and "secret" not in repr(source.address)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://me:secret@host/topic",
        "mqtt://me:secret@host",
        "mqtt://me:secret@/topic",
        "mqtt://me:secret@host/a/#",
        "mqtt://me:secret@host/+/x",
        "mqtt://me:secret@host:99999/topic",
        "mqtt://me:secret@[::1/topic",
    ],
)
def test_an_address_that_is_not_understood_is_refused_without_showing_it(url):
    with pytest.raises(SourceError) as refusal:
        mqtt_address(url)
    assert "secret" not in str(refusal.value)
