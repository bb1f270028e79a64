// #region test
import { createLocalCaller } from "@quicrpc/core";
import { connect, serve } from "@quicrpc/node";
import { beforeEach, expect, it } from "vitest";
import { createNotesClient, createNotesRouter, type NotesClient } from "./generated/notes.js";
import { createNotes } from "./notes.js";

let notes: NotesClient;

beforeEach(() => {
  const caller = createLocalCaller([createNotesRouter(createNotes())]); // no network, nothing to close
  notes = createNotesClient(caller);
});

it("keeps what was saved", async () => {
  const { id } = await notes.save({ text: "milk" });
  expect(await notes.get({ id })).toMatchObject({ text: "milk" });
});

it("says which note there is not", async () => {
  await expect(notes.get({ id: "7" })).rejects.toMatchObject({ reason: "NO_SUCH_NOTE", details: { id: "7" } });
});

it("refuses a note without text", async () => {
  await expect(notes.save({ text: "" })).rejects.toMatchObject({ code: "invalid_argument" });
});
// #endregion test

// #region network
it("serves over a network too", async () => {
  const server = await serve({ listen: "tcp://127.0.0.1:0", routers: [createNotesRouter(createNotes())] });
  const connection = await connect(server.urls[0]!);
  try {
    const remote = createNotesClient(connection);
    await remote.save({ text: "milk" });
    expect((await remote.list({})).notes).toHaveLength(1);
  } finally {
    await connection.close();
    await server.close();
  }
});
// #endregion network
