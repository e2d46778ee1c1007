"""Whoever reads slowly misses messages; nobody waits for them."""

import asyncio

import pytest

from unmixnet.live.fanout import MOST_CLIENTS, QUEUE, Fanout, TooManyClientsError, encode


async def read(fanout: Fanout, client) -> list[tuple[str, str]]:
    return [(message.kind, message.text) async for message in fanout.messages(client)]


def test_every_reader_gets_every_frame_in_order():
    async def run():
        fanout = Fanout()
        clients = [fanout.join() for _ in range(3)]
        for i in range(QUEUE - 1):
            fanout.send(encode("n", i))
        fanout.close()
        return [await read(fanout, client) for client in clients]

    received = asyncio.run(run())
    assert received[0] == received[1] == received[2] == [("n", str(i)) for i in range(QUEUE - 1)]


def test_a_slow_reader_misses_the_oldest_and_is_told_how_many():
    async def run():
        fanout = Fanout()
        slow = fanout.join()
        for i in range(1000):
            fanout.send(encode("n", i))
        fanout.close()
        return await read(fanout, slow)

    received = asyncio.run(run())
    assert received[0] == ("missed", f'{{"frames":{1001 - QUEUE}}}')
    assert received[-1] == ("n", "999") and len(received) == QUEUE


def test_a_slow_reader_holds_up_nobody():
    async def run():
        fanout = Fanout()
        fanout.join()
        quick, received = fanout.join(), []

        async def listen():
            received.extend(await read(fanout, quick))

        task = asyncio.create_task(listen())
        for i in range(5 * QUEUE):
            fanout.send(encode("n", i))
            await asyncio.sleep(0)
        fanout.close()
        await task
        return received

    assert [text for kind, text in asyncio.run(run()) if kind == "n"] == [str(i) for i in range(5 * QUEUE)]


def test_more_readers_than_the_hub_serves_are_refused():
    async def run():
        fanout = Fanout()
        clients = [fanout.join() for _ in range(MOST_CLIENTS)]
        with pytest.raises(TooManyClientsError):
            fanout.join()
        fanout.leave(clients[0])
        fanout.join()
        assert len(fanout) == MOST_CLIENTS

    asyncio.run(run())


def test_a_number_that_does_not_exist_is_no_frame():
    with pytest.raises(ValueError):
        encode("n", float("nan"))
