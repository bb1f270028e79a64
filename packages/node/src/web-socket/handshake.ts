import { createHash, randomBytes } from "node:crypto";
import { type IncomingMessage, request as requestHttp } from "node:http";
import type { Socket } from "node:net";
import { WEBSOCKET_PROTOCOL } from "@quicrpc/core/transport";

/** Text that the server appends to the client's key to prove that it supports WebSocket (RFC 6455 §1.3). */
const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const VERSION = "13";

/** Matches 16 bytes in base64: the client's key. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;

function acceptOf(key: string): string {
  return createHash("sha1")
    .update(key + KEY_SUFFIX)
    .digest("base64");
}

function list(field: string | undefined): readonly string[] {
  return field === undefined ? [] : field.split(",").map((item) => item.trim());
}

/** Returns the HTTP status that refuses an invalid WebSocket request, or undefined if it is valid. */
export function handshakeRefusal({ method, headers }: IncomingMessage): 400 | 405 | 426 | undefined {
  if (method !== "GET") return 405;
  if (headers.upgrade?.toLowerCase() !== "websocket") return 400;
  if (headers["sec-websocket-version"] !== VERSION) return 426;
  if (!KEY.test(headers["sec-websocket-key"] ?? "")) return 400;
  return list(headers["sec-websocket-protocol"]).includes(WEBSOCKET_PROTOCOL) ? undefined : 400;
}

/** Header fields of a response with status 426, with the supported WebSocket version (RFC 6455 §4.4). */
export const VERSION_FIELDS: string = `Upgrade: websocket\r\nSec-WebSocket-Version: ${VERSION}\r\n`;

export function acceptHandshake({ headers, socket }: IncomingMessage): void {
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\n" +
      "Upgrade: websocket\r\n" +
      "Connection: Upgrade\r\n" +
      `Sec-WebSocket-Accept: ${acceptOf(headers["sec-websocket-key"] ?? "")}\r\n` +
      `Sec-WebSocket-Protocol: ${WEBSOCKET_PROTOCOL}\r\n\r\n`,
  );
}

/**
 * Sends a WebSocket request on a connection. Calls `onOpen` when the server has accepted it. If the connection ends, so
 * does the request.
 */
export function requestWebSocket(
  url: URL,
  connection: Socket,
  headers: Readonly<Record<string, string>>,
  onOpen: () => void,
  reject: (error: unknown) => void,
): void {
  const key = randomBytes(16).toString("base64");
  const request = requestHttp({
    createConnection: () => connection,
    // The default port is left out of the Host field.
    defaultPort: url.protocol === "wss:" ? 443 : 80,
    host: url.hostname,
    ...(url.port !== "" && { port: url.port }),
    path: url.pathname + url.search,
    ...(url.username !== "" && { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` }),
    headers: {
      ...headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": VERSION,
      "sec-websocket-key": key,
      "sec-websocket-protocol": WEBSOCKET_PROTOCOL,
    },
  });
  request.on("error", reject);
  request.once("response", ({ statusCode: status }) => {
    request.destroy();
    const text = `the server answered the request for a WebSocket with status ${status}`;
    reject(Object.assign(new Error(text), { status }));
  });
  request.once("upgrade", ({ headers: responseHeaders }, _, head) => {
    const problem = answerProblem(responseHeaders, key);
    if (problem !== undefined) {
      connection.destroy();
      reject(new Error(`the server's answer to the request for a WebSocket ${problem}`));
      return;
    }
    if (head.length > 0) connection.unshift(head);
    onOpen();
  });
  request.end();
}

/** Returns the reason why a response with status 101 is invalid (RFC 6455 §4.1), or undefined if it is valid. */
function answerProblem(headers: IncomingMessage["headers"], key: string): string | undefined {
  if (headers.upgrade?.toLowerCase() !== "websocket") return "does not upgrade to one";
  if (headers["sec-websocket-accept"] !== acceptOf(key)) return "has a wrong Sec-WebSocket-Accept";
  if (headers["sec-websocket-protocol"] !== WEBSOCKET_PROTOCOL) return `does not agree on ${WEBSOCKET_PROTOCOL}`;
  return headers["sec-websocket-extensions"] === undefined ? undefined : "has extensions that were not requested";
}
