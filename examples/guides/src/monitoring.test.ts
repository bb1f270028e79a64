import { createLocalCaller, createSession } from "@quicrpc/core";
import { messagePortTransport } from "@quicrpc/core/transport";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { expect, it, vi } from "vitest";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { serveWatched, showStats, tapped, timedCaller, traced } from "./monitoring.js";
import { createNotes } from "./notes.js";

const lines = vi.hoisted((): string[] => []);
vi.mock(import("pino"), async (actual) => {
  const { pino, ...rest } = await actual();
  return { ...rest, pino: (() => pino({}, { write: (line) => void lines.push(line) })) as never };
});
vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));

it("a call's time is told by its parts, and what a session measures", async () => {
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [createNotesRouter(createNotes())] });
  const connection = await connect(server.urls[0] ?? "");
  const record = vi.fn<Parameters<typeof timedCaller>[1]>();
  await createNotesClient(timedCaller(connection, record)).list({});
  expect(record).toHaveBeenCalledExactlyOnceWith("list", expect.objectContaining({ totalMs: expect.any(Number) }));
  await connection.session?.ping();
  const log = vi.spyOn(console, "log").mockReturnValue();
  await showStats(connection);
  expect(log.mock.calls.flat()[0]).toMatch(/^[\d.]+ ms, undefined packets lost, window undefined$/);
  log.mockRestore();
  await connection.close();
  await server.close();
});

it("interceptors stand around each call", async () => {
  const server = await serveWatched(await devCertificate(), [createNotesRouter(createNotes())]);
  const notes = createNotesClient(await connect(server.urls[0] ?? ""));
  expect(await notes.list({})).toEqual({ notes: [] });
  await expect(notes.get({ id: "none" })).rejects.toMatchObject({ reason: "NO_SUCH_NOTE" });
  const logged = lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
  expect(logged).toEqual(["served notes.v1.Notes/list: ok", "served notes.v1.Notes/get: not_found"]);
});

it("callers and routers are traced", async () => {
  const handlers = { multiply: ({ a, b }: { a: number; b: number }) => ({ pro: a * b }), divide: () => ({ quo: 1 }) };
  const { router } = traced(createLocalCaller([]), handlers);
  const { arith } = traced(createLocalCaller([router]), handlers);
  expect(await arith.multiply({ a: 6, b: 7 })).toEqual({ pro: 42 });
});

it("the frames of a session are told", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  const { port1, port2 } = new MessageChannel();
  const router = createNotesRouter(createNotes());
  const there = createSession(messagePortTransport(port2, "server"), { routers: [router] });
  const session = tapped(port1, []);
  expect(await createNotesClient(session).list({})).toEqual({ notes: [] });
  const told = log.mock.calls.map(([direction]) => direction as string);
  expect(new Set(told)).toEqual(new Set(["sent", "received"]));
  log.mockRestore();
  await session.close();
  await there.close();
});
