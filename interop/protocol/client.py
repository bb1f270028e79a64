"""A client of quicrpc that was written from docs/protocol.md alone.

  client.py DIRECTORY tcp|webtransport PORT lane|stream SCENARIO...
"""

import asyncio
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived, WebTransportStreamDataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, StreamDataReceived, StreamReset
from calls import Carrier, PING, GOAWAY, CLOSE, RpcError, varint
from fingerprint import fingerprints
from values import UNDEFINED, Big, pack, unpack

PROJECT = Path(__file__).parent.parent
LOCK = json.loads((PROJECT / "quicrpc.lock.json").read_text())["methods"]
FIRST_CODE = 0x52E4A40FA8DB
VALUES = {
    "nothing": None,
    "flag": True,
    "text": "Grüße, 世界",
    "data": bytes(range(256)),
    "int": -(2**40),
    "real": 0.1,
    "big": Big(7),
    "at": datetime(1900, 1, 1, 12, 0, 0, 123000, timezone.utc),
    "list": [0, 127, 128, 65536, -1, -33, 2**32 - 1, 2**53 - 1],
    "pair": ["a", 1],
    "set": {1, 2, 3},
    "map": {1: "one", 2: "two"},
    "record": {"a": 1},
    "either": "x",
    "gap": [1, UNDEFINED, 3],
    "maybe": UNDEFINED,
}


def ids(name):
    return LOCK[f"interop.v1.Protocol/{name}"]["id"]


def expect(seen, wanted):
    if seen != wanted:
        raise AssertionError(f"expected {wanted!r}, got {seen!r}")


class Tcp:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def write(self, data, end=False):
        self.writer.write(data)

    async def read(self):
        return await self.reader.read(65536)


class WebTransport(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.streams, self.lanes = None, {}, asyncio.Queue()
        self.over = asyncio.get_running_loop().create_future()
        self.status = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic, enable_webtransport=True)
        if isinstance(event, StreamReset) and event.stream_id in self.streams:
            self.streams[event.stream_id].chunks.put_nowait(b"")
        elif isinstance(event, StreamDataReceived) and event.stream_id in self.streams:
            self.streams[event.stream_id].receive(event)
        elif self.http is not None:
            for found in self.http.handle_event(event):
                if isinstance(found, HeadersReceived) and not self.status.done():
                    self.status.set_result(dict(found.headers)[b":status"])
                elif isinstance(found, DataReceived) and found.stream_id == self.session and found.stream_ended:
                    self.over.set_result(None)
                elif isinstance(found, WebTransportStreamDataReceived):
                    stream = WebTransportStream(self, found.stream_id)
                    stream.chunks.put_nowait(found.data)
                    self.lanes.put_nowait(Carrier(stream, True, ours=False))

    async def ask(self, port):
        self.session = self._quic.get_next_available_stream_id()
        fields = {":method": "CONNECT", ":protocol": "webtransport", ":scheme": "https", ":path": "/"}
        fields |= {":authority": f"localhost:{port}", "wt-available-protocols": '"quicrpc.v1"'}
        fields |= {"sec-webtransport-http3-draft02": "1"}
        self.http.send_headers(self.session, [(k.encode(), v.encode()) for k, v in fields.items()])
        self.transmit()
        expect(await self.status, b"200")

    def open(self):
        return WebTransportStream(self, self.http.create_webtransport_stream(self.session))


class WebTransportStream:
    def __init__(self, peer, number):
        self.peer, self.number, self.chunks = peer, number, asyncio.Queue()
        peer.streams[number] = self

    def receive(self, event):
        if event.data:
            self.chunks.put_nowait(event.data)
        if event.end_stream:
            self.chunks.put_nowait(b"")

    def write(self, data, end=False):
        self.peer._quic.send_stream_data(self.number, data, end)
        self.peer.transmit()

    def cancel(self, code):
        self.peer._quic.stop_stream(self.number, FIRST_CODE + code + code // 0x1E)
        self.peer.transmit()

    async def read(self):
        return await self.chunks.get()


class Session:
    """Calls by one lane, or each on a stream of its own."""

    def __init__(self, open, lanes, opened=None):
        self.open, self.lanes = open, opened
        self.lane = Carrier(open(), True) if lanes else None

    def start(self, name, payload=b"", **given):
        return (self.lane or Carrier(self.open(), False)).start(ids(name), payload, **given)

    async def unary(self, name, payload=b"", **given):
        return [unpack(answer) async for answer in self.start(name, payload, **given).answers() if answer]


async def values(session):
    [answer] = await session.unary("echo", pack(VALUES))
    del VALUES["maybe"]
    expect(answer, VALUES | {"set": [1, 2, 3]})
    expect(type(answer["big"]), Big)


async def nesting(session):
    for levels, code in ((100, None), (101, 3)):
        value = 1
        for _ in range(levels):
            value = [value]
        try:
            expect((await session.unary("nested", pack(value)), code), ([levels], None))
        except RpcError as error:
            expect(error.code, code)


async def items(session):
    call = session.start("count", pack({"to": 300}))
    seen = [unpack(answer)["i"] async for answer in call.answers()]
    expect(seen, list(range(300)))


async def upload(session):
    call = session.start("sum", streams=True)
    for _ in range(2000):
        await call.item(pack(2**31))
    call.end()
    expect([unpack(answer) async for answer in call.answers()], [2000 * 2**31])


async def duplex(session):
    call = session.start("talk", streams=True)
    answers = call.answers()
    for word in ("a", "b"):
        await call.item(pack(word))
        expect(unpack(await anext(answers)), word.upper())
    call.end()
    expect([answer async for answer in answers], [])


async def raw(session):
    call, sent = session.start("copy", streams=True), bytes(range(251)) * 4000
    got = asyncio.ensure_future(joined(call))
    for at in range(0, len(sent), 40_000):
        await call.item(sent[at : at + 40_000])
    call.end()
    expect(await got == sent, True)


async def joined(call):
    return b"".join([answer async for answer in call.answers()])


async def errors(session):
    try:
        await session.unary("refuse")
        raise AssertionError("no error")
    except RpcError as error:
        expect((error.code, error.reason, error.details), (11, "TOO_MUCH", {"most": 5}))
        expect(type(error.details["most"]), Big)
    for wrong in ({"text": 1}, VALUES | {"big": 7}):
        try:
            await session.unary("echo", pack(wrong))
            raise AssertionError("no error")
        except RpcError as error:
            expect(error.code, 3)
            expect(sorted(error.details[0]), ["code", "message", "path"])


async def deadlines(session):
    try:
        await session.unary("wait", timeout=50)
    except RpcError as error:
        expect(error.code, 4)


async def cancelling(session):
    [before] = await session.unary("waits")
    call = session.start("wait")
    while (await session.unary("waits"))[0]["now"] == before["now"]:
        pass
    call.cancel()
    while (await session.unary("waits"))[0]["cancelled"] == before["cancelled"]:
        pass


async def metadata(session):
    sent = [("a", b"1"), ("a", "ü".encode()), ("b-bin", b"\0\xff")]
    call = session.start("noted", metadata=sent)
    async for _ in call.answers():
        pass
    expect(sorted(call.metadata), sorted(sent))
    expect(call.trailers, [("last", b"word")])


async def notifications(session):
    session.start("note", pack("noted"), notify=True)
    while "noted" not in (await session.unary("noted"))[0]:
        pass


async def pings(session):
    lane = session.lane or Carrier(session.open(), True)
    lane.send(PING, 0, b"12345678")
    expect(await lane.pongs.get(), b"12345678")


async def leaving(session):
    await session.unary("leave")
    over_tcp = session.lane is not None and isinstance(session.lane.stream, Tcp)
    lane = session.lane if over_tcp else await session.lanes.get()
    # Stage 2, which may come first, tells of another server.
    stage = await lane.stages.get()
    expect(stage if stage != 2 else await lane.stages.get(), 0)
    try:
        await session.unary("waits")
    except RpcError as error:
        expect((error.code, error.refused), (14, True))
    lane.send(GOAWAY, 0, b"\1")
    if over_tcp:
        expect(await lane.over, (0, ""))
        lane.stream.writer.close()
    else:
        await lane.stream.peer.over


async def closing(session):
    session.lane.send(CLOSE, 0, varint(81) + "tschüß".encode())
    session.lane.stream.writer.write_eof()
    await session.lane.reading


async def schemas(session):
    expect(fingerprints(PROJECT / "quicrpc.schema.json"), {k: v["fingerprint"] for k, v in LOCK.items()})


async def run(directory, over, port, carrier, name):
    scenario = globals()[name]
    if over == "tcp":
        stream = Tcp(*await asyncio.open_connection("127.0.0.1", port))
        return await scenario(Session(lambda: stream, True))
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], server_name="localhost", max_datagram_frame_size=65536
    )
    configuration.load_verify_locations(f"{directory}/ca.pem")
    async with connect("127.0.0.1", port, configuration=configuration, create_protocol=WebTransport) as peer:
        await peer.ask(port)
        await scenario(Session(peer.open, carrier == "lane", peer.lanes))


def main(directory, over, port, carrier, *names):
    for name in names:
        try:
            asyncio.run(asyncio.wait_for(run(directory, over, int(port), carrier, name), 15))
            print(f"{name}\tok", flush=True)
        except Exception as error:
            print(f"{name}\tfailed\t{type(error).__name__} {error}", flush=True)


main(*sys.argv[1:])
