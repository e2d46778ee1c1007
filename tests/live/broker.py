"""Debian's mosquitto beside the test: started on a free port, killed, started again."""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.live.faults import sound_line
from tests.live.streams import until
from unmixnet.live.sample import Sample
from unmixnet.live.sources.mqtt import MqttSource


class Broker:
    """A broker on a port of its own; it keeps nothing."""

    def __init__(self, folder: Path) -> None:
        binary = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/sbin")
        if binary is None:
            pytest.skip("needs mosquitto (Debian: apt-get install mosquitto)")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = folder / "mosquitto.conf"
        config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
        self._command = [binary, "-c", str(config)]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self._process.poll() is None, "mosquitto ended by itself"
                self._process_wait(0.02)
        raise AssertionError("mosquitto does not answer")

    def _process_wait(self, seconds: float) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    async def publish(self, topic: str, *lines: bytes, retain: bool = False) -> None:
        import aiomqtt

        async with aiomqtt.Client("127.0.0.1", self.port) as client:
            for line in lines:
                await client.publish(topic, line, qos=1, retain=retain)


async def survive(broker: Broker, source: MqttSource, kills: int) -> tuple[int, list[float]]:
    """Kill the broker so often; returns how often a sample came through afterwards, and the times of the samples."""
    stream, number, times = source.stream(), 0, []
    await until(stream, "connected")
    for _ in range(kills):
        broker.kill()
        await until(stream, "lost")
        broker.start()
        await until(stream, "reconnected")
        await broker.publish(source.address.topic, sound_line(number))
        item = await until(stream, Sample)
        assert isinstance(item, Sample) and item.values[0] == number
        times.append(item.time_s)
        number += 1
    await stream.aclose()
    return number, times
