"""A server of WebTransport on aioquic for page.html: `pip install aioquic`, then `python3 server.py`. It prints the page's URL.

With the path of a Chromium as its argument it opens the page there as well, without a window, and says what became of it.
CLOSE_AFTER_MS=20 sets the time between the last answer and the session's end; by default it is all from 0 to 99 ms by turns.
"""

import asyncio
import datetime
import os
import sys
import tempfile
import urllib.parse

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived, WebTransportStreamDataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

STREAMS = 4
CLOSE_WEBTRANSPORT_SESSION = 0x2843
NO_ERROR = 0x52E4A40FA8DB  # application error code 0 (WebTransport over HTTP/3, section 4.4)
sessions = 0


class Connection(QuicConnectionProtocol):
    """One session: answers each of its streams with STOP_SENDING, "answer" and FIN, and then ends it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http, self.session, self.answered = None, None, set()

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic, enable_webtransport=True)
        for message in self.http.handle_event(event) if self.http else []:
            if isinstance(message, HeadersReceived):
                self.session = message.stream_id
                accepted = [(b":status", b"200"), (b"sec-webtransport-http3-draft", b"draft02")]
                self.http.send_headers(self.session, accepted)
            elif isinstance(message, WebTransportStreamDataReceived) and message.stream_id not in self.answered:
                self.answer(message.stream_id)
        self.transmit()

    def answer(self, stream):
        global sessions
        self.answered.add(stream)
        self._quic.stop_stream(stream, NO_ERROR)
        self._quic.send_stream_data(stream, b"answer", end_stream=True)
        if len(self.answered) == STREAMS:
            after = int(os.environ.get("CLOSE_AFTER_MS", sessions % 100))
            sessions += 1
            asyncio.get_running_loop().call_later(after / 1000, self.end)

    def end(self):
        info = (7).to_bytes(4, "big") + b"done"
        capsule = encode_uint_var(CLOSE_WEBTRANSPORT_SESSION) + encode_uint_var(len(info)) + info
        self.http.send_data(self.session, capsule, end_stream=True)
        self.transmit()


def make_certificate(folder):
    """A certificate that a page may trust by its hash: ECDSA P-256, valid for less than 14 days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=10))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    builder = builder.add_extension(names, critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    with open(f"{folder}/cert.pem", "wb") as file:
        file.write(certificate.public_bytes(pem))
    with open(f"{folder}/key.pem", "wb") as file:
        file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, none))
    return certificate.fingerprint(hashes.SHA256())


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], max_datagram_frame_size=65536)
    with tempfile.TemporaryDirectory() as folder:
        fingerprint = make_certificate(folder)
        configuration.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Connection)
    port = server._transport.get_extra_info("sockname")[1]
    with open(os.path.join(os.path.dirname(__file__), "page.html"), encoding="utf-8") as file:
        page = file.read().replace("PORT", str(port)).replace("STREAMS", str(STREAMS))
    page = page.replace("HASH", str(list(fingerprint))).encode()
    told = asyncio.Queue()

    async def site(reader, writer):
        method, path, _ = (await reader.readline()).decode().split(" ", 2)
        while (await reader.readline()).strip():
            pass
        body = page if method == "GET" else b""
        if method == "POST":
            told.put_nowait(urllib.parse.unquote(path[1:]))
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    web = await asyncio.start_server(site, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{web.sockets[0].getsockname()[1]}/"
    print(url, flush=True)
    browser = None
    if len(sys.argv) > 1:
        program, *options = sys.argv[1:]
        given = ["--headless=new", "--no-sandbox", *options, url]
        nothing = asyncio.subprocess.DEVNULL
        browser = await asyncio.create_subprocess_exec(program, *given, stdout=nothing, stderr=nothing)
    try:
        while True:
            text = await asyncio.wait_for(told.get(), 20)
            print(f"the page: {text}", flush=True)
            if text.startswith("all "):
                return
    except asyncio.TimeoutError:
        print("the page says nothing any more: it has crashed", flush=True)
    finally:
        if browser is not None:
            browser.terminate()


asyncio.run(main())
