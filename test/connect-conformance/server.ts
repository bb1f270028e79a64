// The server under test: reads its description from stdin, and writes its address to stdout.
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { grpc } from "@quicrpc/grpc";
import { createFetchHandler, type HttpPeer, toNodeHandler } from "@quicrpc/http";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createH2cServer, createSecureServer } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { createConformanceRouter } from "./generated/conformance.js";
import { handlers } from "./handlers.js";
import { readMessage, writeMessage } from "./framing.js";
import { described } from "./messages.js";
import { conformanceProtobuf } from "./protobuf.js";

interface CompatRequest extends Message {
  readonly httpVersion: number;
  readonly useTls: boolean;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
}

const HTTP_2 = 2;

const bytes = await readMessage(process.stdin);
if (bytes === undefined) throw new Error("the runner said nothing");
const request = fromBinary(described("ServerCompatRequest"), bytes) as CompatRequest;
const { httpVersion, useTls, messageReceiveLimit, serverCreds } = request;

const handler = createFetchHandler<HttpPeer>({
  routers: [createConformanceRouter(handlers)],
  extensions: [grpc(conformanceProtobuf)],
  authenticate: (peer) => peer,
  onError: (error, { method }) => console.error(method, error),
  ...(messageReceiveLimit > 0 && {
    limits: { maxFrameBytes: messageReceiveLimit, maxDecompressedBytes: messageReceiveLimit },
  }),
});
const nodeHandler = toNodeHandler(handler);
const listener = nodeHandler as RequestListener;

function serverOf(): Server {
  if (useTls && serverCreds !== undefined) {
    const { cert, key } = serverCreds;
    const tls = { cert: Buffer.from(cert), key: Buffer.from(key), allowHTTP1: true };
    return createSecureServer(tls, listener as never);
  }
  if (httpVersion !== HTTP_2) return createServer(listener);
  return createH2cServer().on("stream", nodeHandler.http2 as never);
}

const server = serverOf();
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const pemCert = useTls && serverCreds !== undefined ? serverCreds.cert : new Uint8Array(0);
const type = described("ServerCompatResponse");
writeMessage(process.stdout, toBinary(type, create(type, { host: "127.0.0.1", port, pemCert })));
