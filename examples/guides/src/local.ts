import { createLocalCaller } from "@quicrpc/core";
import { createNotesClient, createNotesRouter, type NotesClient } from "./generated/notes.js";
import { createNotes } from "./notes.js";

/** Returns a client of a separate set of notes, for the tests of guides. */
export function localNotes(): NotesClient {
  return createNotesClient(createLocalCaller([createNotesRouter(createNotes())]));
}
