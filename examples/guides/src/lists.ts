import type { Note, NotesClient } from "./generated/notes.js";

// #region pages
/** Yields every note with as many calls as necessary; a page is requested when the previous one has been read. */
export async function* allNotes(notes: NotesClient): AsyncGenerator<Note> {
  let after: string | undefined;
  do {
    const page = await notes.list({ after, limit: 100 });
    yield* page.notes;
    after = page.next;
  } while (after !== undefined);
}
// #endregion pages

// #region find
/** Returns the first note with this word. */
export async function find(notes: NotesClient, word: string): Promise<Note | undefined> {
  for await (const note of notes.all()) {
    if (note.text.includes(word)) return note; // leaving the loop ends the call, at the server too
  }
  return undefined;
}
// #endregion find

// #region watch
/** Shows the existing notes and each change, until `signal` fires. */
export async function follow(notes: NotesClient, show: (note: Note) => void, signal: AbortSignal): Promise<void> {
  try {
    for await (const note of notes.watch({ signal })) show(note);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
// #endregion watch
