"""How the bytes of a reply reach the client: whole, half, cut, drop by drop, or never."""

import asyncio
from collections.abc import Iterator, Sequence

from worker.simulator.http import Send, start, write
from worker.simulator.reply import Delivery
from worker.simulator.wire import Rendered

BURSTS = 20  # a stream with a latency comes in so many parts
DRIP_SECONDS = 0.01


async def wait_forever() -> None:
    """Until cancelled."""
    await asyncio.get_running_loop().create_future()


async def send_at_once(rendered: Rendered, delivery: Delivery, send: Send) -> bool:
    """Send all that the delivery lets out. False when the connection has to be cut now."""
    pieces = _half(rendered.pieces) if delivery in (Delivery.HALF, Delivery.CUT) else rendered.pieces
    length = (
        None if rendered.streamed else sum([len(p) for p in pieces]) if delivery is Delivery.HALF else rendered.size
    )
    await start(send, rendered.status, rendered.content_type, length, rendered.headers)
    whole = delivery is not Delivery.CUT
    if rendered.streamed:
        pieces = (b"".join(pieces),)
    for number, piece in enumerate(pieces, 1):
        await write(send, piece, more=number < len(pieces) or not whole)
    return whole


async def send_over(rendered: Rendered, seconds: float, send: Send) -> None:
    """Send an event stream so that its last event comes after that many seconds."""
    await start(send, rendered.status, rendered.content_type, None, rendered.headers)
    for burst in _bursts(rendered.pieces):
        await asyncio.sleep(seconds / BURSTS)
        await write(send, burst, more=True)
    await write(send, b"", more=False)


async def drip(rendered: Rendered, seconds: float, send: Send) -> None:
    """Send the body a few bytes at a time over that many seconds."""
    body = b"".join(rendered.pieces)
    await start(
        send, rendered.status, rendered.content_type, None if rendered.streamed else len(body), rendered.headers
    )
    step = max(1, int(len(body) * DRIP_SECONDS / seconds)) if seconds else len(body)
    for place in range(0, len(body), step):
        await asyncio.sleep(DRIP_SECONDS)
        await write(send, body[place : place + step], more=place + step < len(body))


def _half(pieces: Sequence[bytes]) -> list[bytes]:
    left = sum([len(piece) for piece in pieces]) // 2
    kept: list[bytes] = []
    for piece in pieces:
        kept.append(piece[:left])
        left -= len(kept[-1])
        if not left:
            break
    return kept


def _bursts(pieces: Sequence[bytes]) -> Iterator[bytes]:
    size = -(-len(pieces) // BURSTS)
    for number in range(BURSTS):
        yield b"".join(pieces[number * size : (number + 1) * size])
