import { type CallContext, type Caller, defaultTimeout, interceptCaller } from "@quicrpc/core";
import { createNotesClient, type Note, type NotesClient } from "./generated/notes.js";

// #region call
/** Returns a note if it arrives within half a second. */
export function quickly(notes: NotesClient, id: string): Promise<Note> {
  return notes.get({ id }, { timeoutMs: 500 });
}
// #endregion call

// #region default
/** Returns a client whose calls time out after two seconds by default. */
export function patient(caller: Caller): NotesClient {
  return createNotesClient(interceptCaller(caller, [defaultTimeout(2000)]));
}
// #endregion default

// #region parent
/** A handler that calls another server: that call ends with its own, at the latest. */
export function relay(notes: NotesClient) {
  return ({ id }: { id: string }, context: CallContext): Promise<Note> => notes.get({ id }, { parent: context });
}
// #endregion parent

// #region signal
/** A handler that stops when its caller no longer waits. */
export async function slowly({ id }: { id: string }, { signal }: CallContext): Promise<unknown> {
  const response = await fetch(`http://archive.internal/notes/${id}`, { signal });
  return response.json();
}
// #endregion signal
