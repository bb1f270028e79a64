import { openAsBlob } from "node:fs";
import { createBlobId } from "@quicrpc/blobs";
import { saveBlob } from "@quicrpc/node";
import type { NotesAttachInputItem, NotesAttachOutput, NotesClient } from "./generated/notes.js";

// #region upload
/** Uploads a file, in a page one of `<input type="file">`. `onProgress` is called with the number of bytes sent. */
export function attach(
  notes: NotesClient,
  note: string,
  file: Blob & { name: string },
  { onProgress, signal }: { onProgress?: (bytes: number) => void; signal?: AbortSignal } = {},
): Promise<NotesAttachOutput> {
  async function* parts(): AsyncGenerator<NotesAttachInputItem> {
    yield { kind: "file", note, name: file.name, bytes: file.size };
    for (let sent = 0; sent < file.size; ) {
      const chunk = new Uint8Array(await file.slice(sent, sent + 65_536).arrayBuffer());
      yield { kind: "chunk", chunk }; // comes back when there is room for more
      sent += chunk.length;
      onProgress?.(sent);
    }
  }
  return notes.attach(parts(), { signal });
}
// #endregion upload

// #region archive
/** Uploads a large file. If a reloaded page chooses the same file, the upload continues. */
export async function archive(notes: NotesClient, note: string, file: File, kept: Storage): Promise<void> {
  const key = `upload ${note} ${file.name} ${file.size}`;
  const id = kept.getItem(key) ?? createBlobId();
  kept.setItem(key, id);
  await notes.archive({ note, file: { content: file, id } });
  kept.removeItem(key);
}
// #endregion archive

// #region path
/** Uploads a file by its path. */
export async function attachPath(notes: NotesClient, note: string, path: string): Promise<NotesAttachOutput> {
  const file = Object.assign(await openAsBlob(path), { name: path });
  return attach(notes, note, file, { onProgress: (bytes) => console.log(`${bytes} of ${file.size} bytes`) });
}
// #endregion path

// #region blob
/** Uploads the file chosen in `<input type="file">`, and shows the progress in a `<progress>`. */
export async function upload(
  notes: NotesClient,
  note: string,
  file: File,
  bar: { value: number; max: number },
): Promise<void> {
  bar.max = file.size;
  await notes.upload({ note, file: { content: file, onProgress: (bytes) => (bar.value = bytes) } });
}
// #endregion blob

// #region save
/** Writes a note's file to the disk. */
export async function save(notes: NotesClient, note: string, path: string, signal?: AbortSignal): Promise<void> {
  const { file } = await notes.download({ note });
  const onProgress = (bytes: number): void => console.log(`${bytes} of ${file.length ?? "?"} bytes`);
  await saveBlob(file, path, { onProgress, ...(signal && { signal }) });
}
// #endregion save
