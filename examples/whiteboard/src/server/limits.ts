/** Limits of a server. */
export const LIMITS = {
  /** Maximum number of participants at one time. */
  sessions: 64,
  /** Changes of a board, and messages of a chat, to keep; older ones are dropped. */
  history: 10_000,
  /** Bytes of the files of all rooms; beyond it the oldest are removed. */
  fileBytes: 128 * 1024 * 1024,
  /** Bytes of files that are being uploaded. */
  uploadBytes: 128 * 1024 * 1024,
  /** Milliseconds that an upload may take. */
  uploadMs: 10 * 60_000,
  /** Bytes of a message between page and server. */
  frameBytes: 512 * 1024,
} as const;
