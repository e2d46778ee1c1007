"""Twenty deaths of the broker."""

import asyncio

import pytest

from tests.live.broker import Broker, survive
from unmixnet.live.sources.mqtt import MqttSource

pytestmark = pytest.mark.soak


def test_twenty_deaths_of_the_broker_are_survived(tmp_path, measured):
    broker = Broker(tmp_path)
    try:
        source = MqttSource(f"mqtt://127.0.0.1:{broker.port}/lab/enose", retry_s=0.1)
        came_through, _ = asyncio.run(survive(broker, source, 20))
    finally:
        broker.kill()
    measured("times subscribed again, of 20", came_through)
    assert came_through == 20
