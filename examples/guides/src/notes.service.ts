import { rpc, service, stream } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { z } from "zod";

export const Note = z.object({ id: z.string(), text: z.string().max(10_000), changed: z.date() });

export const Notes = service("notes.v1.Notes", {
  // #region get
  /** One note. */
  get: rpc({
    input: z.object({ id: z.string() }),
    output: Note,
    readOnly: true,
    errors: { NO_SUCH_NOTE: { code: "not_found", details: z.object({ id: z.string() }) } },
  }),
  // #endregion get

  // #region list
  /** A page of notes, the oldest first. */
  list: rpc({
    input: z.object({ after: z.string().optional(), limit: z.int().min(1).max(500).default(50) }),
    output: z.object({ notes: z.array(Note), next: z.string().optional() }),
    readOnly: true,
  }),
  // #endregion list

  // #region all
  /** Every note, the oldest first. */
  all: rpc({ output: stream(Note), readOnly: true }),
  // #endregion all

  // #region watch
  /** The notes there are, then each that is added or changed. */
  watch: rpc({ output: stream(Note), readOnly: true }),
  // #endregion watch

  /** Adds a note, or changes one. */
  save: rpc({
    input: z.object({ id: z.string().optional(), text: z.string().min(1, "a note needs a text").max(10_000) }),
    output: Note,
  }),

  // #region attach
  /** Takes a file: first what it is, then its bytes. */
  attach: rpc({
    input: stream(
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("file"), note: z.string(), name: z.string().max(200), bytes: z.int().min(0) }),
        z.object({ kind: z.literal("chunk"), chunk: z.instanceof(Uint8Array) }),
      ]),
    ),
    output: z.object({ bytes: z.int(), sha256: z.string() }),
    errors: { TOO_LARGE: { code: "resource_exhausted", details: z.object({ most: z.int() }) } },
  }),
  // #endregion attach

  // #region upload
  /** Keeps a file with a note. */
  upload: rpc({
    input: z.object({ note: z.string(), file: blob({ maxBytes: 50_000_000 }) }),
    output: z.object({ bytes: z.int() }),
  }),
  // #endregion upload

  // #region archive
  /** Keeps a large file with a note. What has arrived of it outlives sessions and this server's process. */
  archive: rpc({
    input: z.object({ note: z.string(), file: blob({ maxBytes: 10_000_000_000, resumable: true, digest: "sha-256" }) }),
    output: z.object({ bytes: z.int() }),
  }),
  // #endregion archive

  // #region download
  /** The file of a note. */
  download: rpc({ input: z.object({ note: z.string() }), output: z.object({ file: blob() }) }),
  // #endregion download
});
