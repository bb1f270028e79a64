import { connect, serve } from "@quicrpc/node";
import { expect, it, vi } from "vitest";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { showStats, timedCaller } from "./monitoring.js";
import { createNotes } from "./notes.js";

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
