import type * as net from "node:net";
import type * as tls from "node:tls";
import { expect, it, vi } from "vitest";
import { freePort } from "../../../../scripts/free-port.mjs";
import { dialTcp, dialTls } from "./sockets.js";
import { dialWebSocket } from "./web-socket.js";

/** Returns connect options that give the client the port of the server, on which no server listens. */
const localEnd = ({ port }: { readonly port?: number | undefined }): object => ({
  localPort: port,
  localAddress: "127.0.0.1",
});

vi.mock("node:net", async (load) => {
  const actual = await load<typeof net>();
  return {
    ...actual,
    connect: (connectOptions: net.TcpNetConnectOpts) =>
      actual.connect({ ...connectOptions, ...localEnd(connectOptions) }),
  };
});
vi.mock("node:tls", async (load) => {
  const actual = await load<typeof tls>();
  return {
    ...actual,
    connect: (connectOptions: tls.ConnectionOptions) =>
      actual.connect({ ...connectOptions, ...localEnd(connectOptions) }),
  };
});

it.each([
  ["tcp", dialTcp],
  ["tls", dialTls],
  ["ws", dialWebSocket],
  ["wss", dialWebSocket],
])("a socket of %s:// that has connected to itself is refused, and so dialled again", async (scheme, dial) => {
  const url = new URL(`${scheme}://127.0.0.1:${await freePort()}/`);
  await expect(dial(url, {})).rejects.toMatchObject({
    code: "ECONNREFUSED",
    message: expect.stringContaining("connected to itself"),
  });
});
