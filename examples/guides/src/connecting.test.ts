import { createServer, connect as connectTcp, type Socket } from "node:net";
import { once } from "node:events";
import { createSession } from "@quicrpc/core";
import { nodeStreamTransport, serve } from "@quicrpc/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { connectAnyhow, connectByLine, connectBySignedUrls, follow } from "./connecting.js";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";

const routers = [createNotesRouter(createNotes())];
it("a connection takes the fallback where the first URL fails, and tells its states", async () => {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  const log = vi.spyOn(console, "log").mockReturnValue();
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers });
  onTestFinished(async () => void (await server.close()));
  const connection = await connectAnyhow("unix:/nobody/is/there", server.urls[0] ?? "");
  expect(await createNotesClient(connection).list({})).toBeDefined();
  expect(warn).toHaveBeenCalledOnce();
  const following = follow(connection);
  await connection.close();
  await following;
  expect(log.mock.calls.flat()).toEqual(["ready", "closed"]);
  vi.restoreAllMocks();
});

it("each session has a URL of its own", async () => {
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers });
  onTestFinished(async () => void (await server.close()));
  let asked = 0;
  const connection = await connectBySignedUrls(async () => {
    asked += 1;
    return server.urls[0] ?? "";
  });
  onTestFinished(async () => void (await connection.close()));
  const first = connection.session;
  for (const session of server.sessions) await session.close();
  await first?.closed;
  expect(await createNotesClient(connection).list({})).toBeDefined();
  expect(asked).toBe(2);
});

it("a transport of one's own carries calls", async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void listener.close());
  await once(listener, "listening");
  const { port } = listener.address() as { readonly port: number };
  listener.once("connection", (socket: Socket) => {
    createSession(nodeStreamTransport({ readable: socket, writable: socket }, "server"), { routers });
  });
  const connection = await connectByLine(async (path) => {
    expect(path).toBe("/dev/ttyUSB0");
    const line = connectTcp(port, "127.0.0.1");
    await once(line, "connect");
    return line;
  });
  onTestFinished(async () => void (await connection.close()));
  expect(await createNotesClient(connection).list({})).toBeDefined();
});
