"""aioquic as a peer: the commands and scenarios of ../README.md, over raw QUIC and WebTransport.

  peer.py server DIRECTORY                           certificate in DIRECTORY; prints "port N"
  peer.py client DIRECTORY PORT quic|webtransport SCENARIO...
"""

import asyncio
import sys
import traceback

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DatagramReceived, HeadersReceived, WebTransportStreamDataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import (
    ConnectionTerminated,
    DatagramFrameReceived,
    ProtocolNegotiated,
    StopSendingReceived,
    StreamDataReceived,
    StreamReset,
)

ALPN = "interop"
SIZE = 10 * 2**20
PATTERN = bytes(range(251))
FIRST_CODE = 0x52E4A40FA8DB


def pattern(length, at=0):
    start = at % 251
    return (PATTERN * ((start + length) // 251 + 1))[start : start + length]


class Failure(Exception):
    pass


def expect(seen, wanted):
    if seen != wanted:
        raise Failure(f"expected {wanted!r}, got {seen!r}")


class Ended(Exception):
    """The peer reset a stream."""

    def __init__(self, code):
        self.code = code


class Stream:
    def __init__(self, peer, stream_id):
        self.peer, self.id = peer, stream_id
        self.events = asyncio.Queue()
        self.buffer = b""
        self.ended = False
        self.stopped = asyncio.get_running_loop().create_future()

    def write(self, data, end=False):
        self.peer._quic.send_stream_data(self.id, data, end)
        self.peer.transmit()

    def reset(self, code):
        self.peer._quic.reset_stream(self.id, self.peer.encode(code))
        self.peer.transmit()

    def stop(self, code):
        self.peer._quic.stop_stream(self.id, self.peer.encode(code))
        self.peer.transmit()

    async def read(self):
        """The next bytes; none at the end."""
        while not self.buffer and not self.ended:
            event = await self.events.get()
            if isinstance(event, Ended):
                raise event
            data, self.ended = event
            self.buffer += data
        data, self.buffer = self.buffer, b""
        return data

    async def line(self):
        data = b""
        while b"\n" not in data:
            more = await self.read()
            if not more:
                raise Failure(f"no line, but {data!r}")
            data += more
        line, _, self.buffer = data.partition(b"\n")
        return line.decode()

    async def rest(self):
        chunks = []
        while chunk := await self.read():
            chunks.append(chunk)
        return b"".join(chunks)


class Peer(QuicConnectionProtocol):
    """One connection, and on it the one session."""

    last_close = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.session = None
        self.status = asyncio.get_running_loop().create_future()
        self.over = asyncio.get_running_loop().create_future()
        self.streams = {}
        # aioquic reads what comes back on a stream it opened as HTTP/3 frames, and WebTransport has none there.
        self.past_http = set()
        self.incoming = {False: asyncio.Queue(), True: asyncio.Queue()}
        self.datagrams = asyncio.Queue()
        self.watched = False
        self.is_client = self._quic.configuration.is_client

    def encode(self, code):
        """aioquic takes the code on the wire; the application's is mapped (WebTransport over HTTP/3, §4.3)."""
        return code if self.http is None else FIRST_CODE + code + code // 0x1E

    def decode(self, code):
        if self.http is None:
            return code
        shifted = code - FIRST_CODE
        return shifted - shifted // 0x1F

    def open(self, uni=False):
        if self.http is None:
            stream_id = self._quic.get_next_available_stream_id(is_unidirectional=uni)
        else:
            stream_id = self.http.create_webtransport_stream(self.session, is_unidirectional=uni)
            self.past_http.add(stream_id)
        self.streams[stream_id] = Stream(self, stream_id)
        return self.streams[stream_id]

    def send_datagram(self, data):
        if self.http is None:
            self._quic.send_datagram_frame(data)
        else:
            self.http.send_datagram(self.session, data)
        self.transmit()

    def start_http(self):
        if self.http is None:
            self.http = H3Connection(self._quic, enable_webtransport=True)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated) and event.alpn_protocol == "h3":
            self.start_http()
        elif isinstance(event, ConnectionTerminated):
            if not self.over.done():
                self.over.set_result((event.error_code, event.reason_phrase))
            if self.watched:
                Peer.last_close.set_result((event.error_code, event.reason_phrase))
        elif isinstance(event, StopSendingReceived) and event.stream_id in self.streams:
            self.streams[event.stream_id].stopped.set_result(self.decode(event.error_code))
        elif isinstance(event, StreamReset) and event.stream_id in self.streams:
            self.streams[event.stream_id].events.put_nowait(Ended(self.decode(event.error_code)))
        elif isinstance(event, StreamDataReceived) and event.stream_id in self.past_http:
            self.receive(event.stream_id, event.data, event.end_stream)
            return
        elif self.http is None:
            if isinstance(event, StreamDataReceived):
                self.receive(event.stream_id, event.data, event.end_stream)
            elif isinstance(event, DatagramFrameReceived):
                self.datagram(event.data)
        if self.http is not None:
            for received in self.http.handle_event(event):
                if isinstance(received, WebTransportStreamDataReceived):
                    self.receive(received.stream_id, received.data, received.stream_ended)
                elif isinstance(received, DatagramReceived):
                    self.datagram(received.data)
                elif isinstance(received, HeadersReceived):
                    self.headers(received.stream_id, dict(received.headers))

    def headers(self, stream_id, headers):
        if self.is_client:
            self.status.set_result(int(headers[b":status"]))
            return
        path = headers[b":path"].decode()
        refused = path.startswith("/status/")
        status = path.removeprefix("/status/") if refused else "200"
        self.http.send_headers(stream_id, [(b":status", status.encode())], end_stream=refused)
        if not refused:
            self.session = stream_id
        self.transmit()

    def datagram(self, data):
        if self.is_client:
            self.datagrams.put_nowait(data)
        else:
            self.send_datagram(data)

    def receive(self, stream_id, data, ended):
        stream = self.streams.get(stream_id)
        if stream is None:
            stream = self.streams[stream_id] = Stream(self, stream_id)
            uni = stream_id & 2 != 0
            if self.is_client:
                self.incoming[uni].put_nowait(stream)
            else:
                asyncio.ensure_future(self.serve(stream, uni))
        stream.events.put_nowait((data, ended))

    async def serve(self, stream, uni):
        try:
            await self.obey(stream, uni, (await stream.line()).split(" ", 2))
        except Ended:
            pass
        except Exception:
            traceback.print_exc()

    async def obey(self, stream, uni, words):
        command = words[0]
        if command == "echo" and uni:
            self.open(uni=True).write(await stream.rest(), True)
        elif command == "echo":
            while data := await stream.read():
                stream.write(data)
            stream.write(b"", True)
        elif command == "count":
            received = await stream.rest()
            right = received == pattern(len(received))
            stream.write(str(len(received)).encode() if right else b"wrong bytes", True)
        elif command == "send":
            stream.write(pattern(int(words[1])), True)
        elif command == "reset":
            stream.write(b"x")
            stream.reset(int(words[1]))
        elif command == "stop":
            stream.stop(int(words[1]))
            stream.write(b"", True)
        elif command == "watch":
            stream.write(b"ok\n")
            try:
                await stream.rest()
            except Ended as reset:
                stream.write(f"reset {reset.code}".encode(), True)
        elif command == "stopped":
            stream.write(b"ok\n")
            code = await stream.stopped
            self.open(uni=True).write(f"stop {code}".encode(), True)
        elif command == "open":
            opened = self.open()
            opened.write(b"hello", True)
            stream.write(await opened.rest(), True)
        elif command == "close":
            self._quic.close(error_code=int(words[1]), reason_phrase=words[2])
            self.transmit()
        elif command == "watchclose":
            Peer.last_close = asyncio.get_running_loop().create_future()
            self.watched = True
            stream.write(b"ok\n", True)
        elif command == "last":
            code, reason = await Peer.last_close
            stream.write(f"{code} {reason}".encode(), True)
        else:
            raise Failure(f"unknown command {words}")


class Client:
    def __init__(self, directory, port, mode):
        self.directory, self.port, self.mode = directory, int(port), mode

    def connect(self):
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3" if self.mode == "webtransport" else ALPN],
            server_name="localhost",
            max_datagram_frame_size=65536,
        )
        configuration.load_verify_locations(f"{self.directory}/ca.pem")
        return connect("127.0.0.1", self.port, configuration=configuration, create_protocol=Peer)

    async def ask(self, peer, path="/"):
        """Asks for a session and returns the status."""
        if self.mode == "quic":
            return 200
        peer.start_http()
        peer.session = peer._quic.get_next_available_stream_id()
        fields = {
            ":method": "CONNECT",
            ":protocol": "webtransport",
            ":scheme": "https",
            ":authority": f"localhost:{self.port}",
            ":path": path,
            "sec-webtransport-http3-draft02": "1",
        }
        peer.http.send_headers(peer.session, [(k.encode(), v.encode()) for k, v in fields.items()])
        peer.transmit()
        return await peer.status

    async def run(self, scenario):
        async with self.connect() as peer:
            if scenario == "reject":
                expect(await self.ask(peer, "/status/403"), 403)
                return
            expect(await self.ask(peer), 200)
            await SCENARIOS[scenario](peer)
            if scenario == "close_sent":
                await peer.wait_closed()
        if scenario == "close_sent":
            async with self.connect() as peer:
                expect(await self.ask(peer), 200)
                expect(await command(peer, b"last\n"), b"81 bye")


async def command(peer, data):
    stream = peer.open()
    stream.write(data, True)
    return await stream.rest()


async def handshake(peer):
    expect(await command(peer, b"echo\nhello"), b"hello")


async def streams(peer):
    async def one(index):
        data = pattern(1024, index)
        expect(await command(peer, b"echo\n" + data), data)

    await asyncio.gather(*(one(index) for index in range(200)))


async def upload(peer):
    expect(await command(peer, b"count\n" + pattern(SIZE)), str(SIZE).encode())


async def download(peer):
    received = await command(peer, f"send {SIZE}\n".encode())
    expect(len(received), SIZE)
    expect(received == pattern(SIZE), True)


async def reset_sent(peer):
    stream = peer.open()
    stream.write(b"watch\n")
    expect(await stream.line(), "ok")
    stream.reset(77)
    expect(await stream.rest(), b"reset 77")


async def reset_received(peer):
    try:
        await command(peer, b"reset 78\n")
    except Ended as reset:
        expect(reset.code, 78)
        return
    raise Failure("the stream ended without a reset")


async def stop_sent(peer):
    stream = peer.open()
    stream.write(b"stopped\n")
    expect(await stream.line(), "ok")
    stream.stop(79)
    expect(await (await peer.incoming[True].get()).rest(), b"stop 79")


async def stop_received(peer):
    stream = peer.open()
    stream.write(b"stop 80\n")
    expect(await stream.stopped, 80)


async def uni(peer):
    peer.open(uni=True).write(b"echo\none way", True)
    expect(await (await peer.incoming[True].get()).rest(), b"one way")


async def opened(peer):
    stream = peer.open()
    stream.write(b"open\n", True)
    theirs = await peer.incoming[False].get()
    expect(await theirs.rest(), b"hello")
    theirs.write(b"hello back", True)
    expect(await stream.rest(), b"hello back")


async def datagrams(peer):
    for _ in range(20):
        peer.send_datagram(b"ping")
        try:
            expect(await asyncio.wait_for(peer.datagrams.get(), 0.1), b"ping")
            return
        except asyncio.TimeoutError:
            pass
    raise Failure("none of 20 datagrams came back")


async def close_received(peer):
    peer.open().write("close 4000000000 tschüß\n".encode(), True)
    expect(await peer.over, (4000000000, "tschüß"))


async def close_sent(peer):
    stream = peer.open()
    stream.write(b"watchclose\n", True)
    expect(await stream.line(), "ok")
    peer.close(error_code=81, reason_phrase="bye")


SCENARIOS = {
    "handshake": handshake,
    "streams": streams,
    "upload": upload,
    "download": download,
    "reset_sent": reset_sent,
    "reset_received": reset_received,
    "stop_sent": stop_sent,
    "stop_received": stop_received,
    "uni": uni,
    "opened": opened,
    "datagrams": datagrams,
    "close_received": close_received,
    "close_sent": close_sent,
}


async def run_server(directory):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3", ALPN], max_datagram_frame_size=65536)
    configuration.load_cert_chain(f"{directory}/cert.pem", f"{directory}/key.pem")
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Peer)
    print("port", server._transport.get_extra_info("sockname")[1], flush=True)
    await asyncio.Event().wait()


async def run_client(directory, port, mode, *names):
    client = Client(directory, port, mode)
    for name in names:
        try:
            await asyncio.wait_for(client.run(name), 20)
            print(f"{name}\tok", flush=True)
        except Exception as error:
            why = str(error) or type(error).__name__
            print(f"{name}\tfailed\t{why}", flush=True)


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    asyncio.run(run_server(*arguments) if role == "server" else run_client(*arguments))
