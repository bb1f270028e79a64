import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RpcError, rpcError } from "@quicrpc/core";
import { fileBlob, saveBlob } from "@quicrpc/node";
import { type Note, type NotesHandlers, notesMethods } from "./generated/notes.js";

const MOST_BYTES = 50_000_000;
/** The folder of large files: one that stays, in a server of your own, and one for each user. */
const archived = mkdtempSync(join(tmpdir(), "notes-"));

/** Notes of one process, in memory. */
export function createNotes(): NotesHandlers {
  const notes = new Map<string, Note>();
  const files = new Map<string, { path: string; name: string; type: string }>();
  const watchers = new Set<(note: Note) => void>();

  return {
    // #region get
    get({ id }) {
      const note = notes.get(id);
      if (note === undefined) throw rpcError(notesMethods.get, "NO_SUCH_NOTE", { id });
      return note;
    },
    // #endregion get

    // #region list
    list({ after, limit }) {
      const all = [...notes.values()];
      const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
      const page = all.slice(from, from + limit);
      return { notes: page, next: from + limit < all.length ? page.at(-1)?.id : undefined };
    },
    // #endregion list

    // #region all
    *all() {
      yield* notes.values(); // goes on as fast as the caller reads
    },
    // #endregion all

    // #region watch
    async *watch(_, { signal }) {
      const changes: Note[] = [];
      let wake = () => {};
      const changed = (note: Note) => {
        changes.push(note);
        wake();
      };
      watchers.add(changed); // before the notes are read, so that none falls in between
      signal.addEventListener("abort", () => wake());
      try {
        yield* Array.from(notes.values());
        while (!signal.aborted) {
          const note = changes.shift();
          if (changes.length > 1000) throw new RpcError("resource_exhausted", "too slow: call again");
          if (note !== undefined) yield note;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        watchers.delete(changed);
      }
    },
    // #endregion watch

    save({ id = randomUUID(), text }) {
      const note = { id, text, changed: new Date() };
      notes.set(id, note);
      for (const changed of watchers) changed(note);
      return note;
    },

    // #region attach
    async attach(parts) {
      const hash = createHash("sha256");
      let file: Awaited<ReturnType<typeof open>> | undefined;
      let bytes = 0;
      try {
        for await (const part of parts) {
          if (part.kind === "file") {
            if (part.bytes > MOST_BYTES) throw rpcError(notesMethods.attach, "TOO_LARGE", { most: MOST_BYTES });
            file = await open(join(tmpdir(), `note-${randomUUID()}`), "w");
          } else {
            bytes += part.chunk.length;
            if (bytes > MOST_BYTES) throw rpcError(notesMethods.attach, "TOO_LARGE", { most: MOST_BYTES });
            if (file === undefined) throw new RpcError("invalid_argument", "say what the file is first");
            hash.update(part.chunk);
            await file.write(part.chunk); // while this waits, the client is held back
          }
        }
        return { bytes, sha256: hash.digest("hex") };
      } finally {
        await file?.close();
      }
    },
    // #endregion attach

    // #region upload
    async upload({ note, file }) {
      const path = join(tmpdir(), `note-${randomUUID()}`);
      await saveBlob(file, path); // as fast as the disk takes it, which holds the client back
      files.set(note, { path, name: file.name, type: file.type });
      return { bytes: (await stat(path)).size };
    },
    // #endregion upload

    // #region archive
    async archive({ note, file }) {
      const path = join(archived, `${file.id}`); // the same whenever the call is made anew
      await saveBlob(file, path, { resume: true }); // goes on after what the disk has
      files.set(note, { path, name: file.name, type: file.type }); // may run twice: it says the same
      return { bytes: (await stat(path)).size };
    },
    // #endregion archive

    // #region download
    async download({ note }) {
      const kept = files.get(note);
      if (kept === undefined) throw new RpcError("not_found", "the note has no file");
      return { file: await fileBlob(kept.path, { name: kept.name, type: kept.type }) };
    },
    // #endregion download
  };
}
