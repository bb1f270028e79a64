"""Frames, heads and calls of docs/protocol.md §2 to §8, over anything with write(data, end) and await read()."""

import asyncio
from itertools import count

from values import unpack

HELLO, REQUEST, NOTIFY, RESPONSE, ERROR, ITEM, END, CANCEL, CREDIT, HEADERS, GOAWAY, PING, PONG, CLOSE, HALF_END = range(15)
CALL_STREAM, LANE = b"\1", b"\2"
WINDOW = 262_144
TIMEOUT, METADATA, TRAILERS, REFUSED, REASON = 1, 3, 7, 9, 11


def varint(n):
    for bits, size in ((6, 1), (14, 2), (30, 4), (62, 8)):
        if n < 1 << bits:
            return (n | (size.bit_length() - 1) << (size * 8 - 2)).to_bytes(size, "big")


def read_varint(data, at):
    size = 1 << (data[at] >> 6)
    return int.from_bytes(data[at : at + size], "big") & (1 << (size * 8 - 2)) - 1, at + size


def text(data):
    return varint(len(data)) + data


def fields(data, at, end):
    while at < end:
        key, at = read_varint(data, at)
        length, at = read_varint(data, at)
        yield key, data[at : at + length]
        at += length


def head(timeout=None, metadata=None):
    found = b"" if timeout is None else varint(TIMEOUT) + text(varint(timeout))
    if metadata is not None:
        found += varint(METADATA) + text(b"".join(text(k.encode()) + text(v) for k, v in metadata))
    return text(found) if found else b""


def entries(data):
    at, found = 0, []
    while at < len(data):
        length, at = read_varint(data, at)
        key, at = data[at : at + length].decode(), at + length
        length, at = read_varint(data, at)
        found.append((key, data[at : at + length]))
        at += length
    return found


class RpcError(Exception):
    def __init__(self, code, message, details, found):
        super().__init__(f"{code} {message}")
        self.code, self.message, self.details, self.refused = code, message, details, REFUSED in found
        self.reason = found.get(REASON, b"").decode()


class Call:
    """What arrives for one call, and what it may still send."""

    def __init__(self, carrier, number):
        self.carrier, self.number = carrier, number
        self.frames = asyncio.Queue()
        self.window, self.opened = WINDOW, asyncio.Event()
        self.metadata, self.trailers = [], []

    async def item(self, payload):
        while self.carrier.lane and self.window <= 0:
            self.opened.clear()
            await self.opened.wait()
        self.window -= self.carrier.send(ITEM, self.number, payload)

    def end(self):
        self.carrier.send(END, self.number, end=not self.carrier.lane)

    def cancel(self, code=1):
        if self.carrier.lane:
            self.carrier.send(CANCEL, self.number, bytes([code]))
        else:
            self.carrier.stream.cancel(code)

    async def answers(self):
        """The payloads of items or of the response; raises RpcError."""
        while True:
            kind, found, body, size = await self.frames.get()
            self.metadata += entries(found.get(METADATA, b""))
            self.trailers += entries(found.get(TRAILERS, b""))
            if kind == ERROR:
                length, at = read_varint(body, 1)
                details = unpack(body[at + length :]) if at + length < len(body) else None
                raise RpcError(body[0], body[at : at + length].decode(), details, found)
            if kind in (ITEM, RESPONSE):
                yield body
            if kind == ITEM and self.carrier.lane:
                self.carrier.send(CREDIT, self.number, varint(size))
            if kind in (RESPONSE, END):
                return


class Carrier:
    """A lane, or the stream of one call; ours, unless the peer has opened it."""

    def __init__(self, stream, lane, ours=True):
        self.stream, self.lane = stream, lane
        self.calls, self.pongs, self.stages = {}, asyncio.Queue(), asyncio.Queue()
        self.over = asyncio.get_running_loop().create_future()
        self.kind = b"" if ours else LANE
        if ours:
            stream.write(LANE if lane else CALL_STREAM)
        if lane:
            self.send(HELLO, 0, varint(1))
        self.reading = asyncio.ensure_future(self.read())

    def send(self, kind, number, body=b"", ids=b"", head=b"", end=False):
        rest = bytes([kind | (0x10 if head else 0)]) + varint(number) + ids + head + body
        frame = varint(len(rest)) + rest
        self.stream.write(frame, end)
        return len(frame)

    def start(self, ids, payload=b"", streams=False, notify=False, **given):
        number = next(n for n in count(0, 2) if n not in self.calls) if self.lane else 0
        call = Call(self, number)
        if not notify:
            self.calls[number] = call
        service, method = ids
        kind, ids = NOTIFY if notify else REQUEST, service.to_bytes(2, "big") + varint(method)
        self.send(kind, number, payload, ids, head(**given), end=not self.lane and not streams)
        return call

    async def read(self):
        data = b""
        while more := await self.stream.read():
            data += more
            # A stream of the peer's begins with its kind.
            data, self.kind = data.removeprefix(self.kind), b""
            while True:
                try:
                    length, at = read_varint(data, 0)
                except IndexError:
                    break
                if len(data) < at + length:
                    break
                self.receive(data[at : at + length], at + length)
                data = data[at + length :]

    def receive(self, frame, size):
        kind, (number, at) = frame[0] & 15, read_varint(frame, 1)
        found = {}
        if frame[0] & 0x10:
            length, at = read_varint(frame, at)
            found = dict(fields(frame, at, at + length))
            at += length
        body = frame[at:]
        if kind == PING:
            self.send(PONG, 0, body)
        elif kind == PONG:
            self.pongs.put_nowait(body)
        elif kind == GOAWAY:
            self.stages.put_nowait(body[0])
        elif kind == CLOSE:
            code, at = read_varint(body, 0)
            self.over.set_result((code, body[at:].decode()))
        elif kind == CREDIT and number in self.calls:
            self.calls[number].window += read_varint(body, 0)[0]
            self.calls[number].opened.set()
        elif kind != HELLO and number in self.calls:
            self.calls[number].frames.put_nowait((kind, found, body, size))
            if kind in (RESPONSE, ERROR, END):
                del self.calls[number]
