// Tests of programs that use quicrpc: see docs/testing.md.
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCaller, interceptCaller, retry, RpcError } from "@quicrpc/core";
import { connect, serve } from "@quicrpc/node";
import { createSessionPair, openNetwork, recordCalls, replayCalls } from "@quicrpc/testing";
import { afterEach, expect, it, vi } from "vitest";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { createNotes } from "./notes.js";

afterEach(() => void vi.useRealTimers());

it("calls over a bad network", async () => {
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [createNotesRouter(createNotes())] });
  // #region network
  const network = await openNetwork({ target: server.address.port, seed: 7, conditions: { delayMs: 40, loss: 0.02 } });
  const connection = await connect(`tcp://127.0.0.1:${network.port}`, { interceptors: [retry()] });

  network.conditions = { blackout: true }; // nothing passes, and nothing says so
  network.conditions = {}; // all is well again
  network.move(); // UDP: the client's address changes, as from Wi-Fi to mobile; TCP: connections are reset
  // #endregion network
  expect(await createNotesClient(connection).list({})).toEqual({ notes: [] });
  await connection.close();
  network.close();
  await server.close();
});

it("a deadline of a minute in no time", async () => {
  const handlers = { ...createNotes(), list: () => new Promise<never>(() => {}) };
  // #region clock
  vi.useFakeTimers();
  const { client } = createSessionPair({ server: { routers: [createNotesRouter(handlers)] } });
  const list = createNotesClient(client).list({}, { timeoutMs: 60_000 });
  const failure = list.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await failure).toMatchObject({ code: "deadline_exceeded" });
  // #endregion clock
});

it("calls against a recording", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quicrpc-guide-"));
  const file = join(folder, "notes.calls.json");
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [createNotesRouter(createNotes())] });
  const connection = await connect(server.urls[0] ?? "");
  // #region recording
  const recorder = recordCalls();
  const notes = createNotesClient(interceptCaller(connection, [recorder.interceptor]));
  const saved = await notes.save({ text: "milk" }); // against a real server, once
  await writeFile(file, recorder.text());

  const replayed = createNotesClient(replayCalls(await readFile(file, "utf8"))); // in the test
  expect(await replayed.save({ text: "milk" })).toEqual(saved); // the same answer
  // #endregion recording
  await connection.close();
  await server.close();
});

it("a caller that only fails", async () => {
  // #region caller
  const notes = createNotesClient(createCaller(() => Promise.reject(new RpcError("unavailable", "lost")) as never));
  // #endregion caller
  await expect(notes.list({})).rejects.toMatchObject({ code: "unavailable" });
});
