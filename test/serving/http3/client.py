"""Makes requests over HTTP/3 with aioquic, as a test tells it to: one connection to 127.0.0.1 at the port given, one request a line of JSON on
standard input ({"path", "method", "headers", "body", "pieces"}), one answer a line on standard output, in the order of the requests."""

import asyncio
import base64
import json
import ssl
import sys

from aioquic.asyncio import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamReset


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.answers = {}

    def quic_event_received(self, event):
        if isinstance(event, StreamReset) and event.stream_id in self.answers:
            self.finish(event.stream_id, {"reset": event.error_code})
        for got in self.http.handle_event(event):
            fields, body, done = self.answers[got.stream_id]
            if isinstance(got, HeadersReceived):
                fields.extend((name.decode(), value.decode()) for name, value in got.headers)
            elif isinstance(got, DataReceived):
                body.extend(got.data)
            if got.stream_ended:
                self.finish(got.stream_id, {"headers": dict(fields), "body": base64.b64encode(body).decode()})

    def finish(self, stream, answer):
        done = self.answers[stream][2]
        if not done.done():
            done.set_result(answer)

    async def ask(self, given):
        stream = self._quic.get_next_available_stream_id()
        fields = {
            ":method": given.get("method", "POST"),
            ":scheme": "https",
            ":authority": given["authority"],
            ":path": given["path"],
            **given.get("headers", {}),
        }
        body = base64.b64decode(given.get("body", ""))
        pieces = given.get("pieces", 1)
        done = asyncio.get_running_loop().create_future()
        self.answers[stream] = ([], bytearray(), done)
        headers = [(name.encode(), value.encode()) for name, value in fields.items()]
        self.http.send_headers(stream, headers, end_stream=not body)
        size = max(1, -(-len(body) // pieces))
        for at in range(0, len(body), size):
            self.http.send_data(stream, body[at : at + size], end_stream=at + size >= len(body))
            self.transmit()
            await asyncio.sleep(0)
        self.transmit()
        return await done


async def main(port):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
    async with connect("127.0.0.1", port, configuration=configuration, create_protocol=Client) as client:
        loop = asyncio.get_running_loop()
        asked = []
        while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            asked.append(asyncio.ensure_future(client.ask(json.loads(line))))
        for answer in asked:
            print(json.dumps(await answer), flush=True)


asyncio.run(main(int(sys.argv[1])))
