/** Limits of what a server takes and keeps. */
export const LIMITS = {
  /** Participants at one time. */
  sessions: 64,
  /** Changes of a board, and messages of a chat; beyond them the oldest go. */
  history: 10_000,
  /** Bytes of the files of all rooms; beyond them the oldest go. */
  fileBytes: 128 * 1024 * 1024,
  /** Bytes of files that are being uploaded. */
  uploadBytes: 128 * 1024 * 1024,
  /** Milliseconds that an upload may take. */
  uploadMs: 10 * 60_000,
  /** Bytes of a message between page and server. */
  frameBytes: 512 * 1024,
} as const;
