import { isRpcErrorOf, RpcError } from "@quicrpc/core";
import { type Note, type NotesClient, notesMethods } from "./generated/notes.js";

// #region declared
/** Returns a note's text, or a message for the user. */
export async function textOf(notes: NotesClient, id: string): Promise<string> {
  try {
    return (await notes.get({ id })).text;
  } catch (error) {
    if (!isRpcErrorOf(notesMethods.get, error)) throw error;
    return `there is no note ${error.details.id}`; // the details are typed by the schema
  }
}
// #endregion declared

// #region codes
/** Saves a note, and retries once if the first attempt certainly had no effect. */
export async function save(notes: NotesClient, text: string): Promise<Note> {
  try {
    return await notes.save({ text });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (error.code === "invalid_argument")
      console.error(error.message); // names the field, and would fail again
    else if (error.refused) return notes.save({ text }); // no handler was entered
    throw error;
  }
}
// #endregion codes

// #region fields
/** Returns the messages to show next to the fields of a form, by path: "address.city". */
export function fieldErrors(error: unknown): Map<string, string> {
  if (!(error instanceof RpcError) || error.code !== "invalid_argument" || !Array.isArray(error.details))
    return new Map();
  const issues = error.details as { path: (string | number)[]; message: string }[];
  return new Map(issues.map(({ path, message }) => [path.join("."), message]));
}
// #endregion fields
