/** What the server keeps, all of it in memory. */
export const LIMITS = {
  /** Participants at one time. */
  sessions: 64,
  /** Points on the board; beyond them the oldest lines go. */
  points: 100_000,
  /** Messages of the chat; beyond them the oldest go. */
  messages: 200,
  /** Bytes of files; beyond them the oldest go. */
  fileBytes: 128 * 1024 * 1024,
  /** Bytes of files that are being uploaded. */
  uploadBytes: 128 * 1024 * 1024,
  /** Milliseconds that an upload may take. */
  uploadMs: 10 * 60_000,
  /** Bytes of a message between page and server. */
  frameBytes: 256 * 1024,
  /** Events that wait for a participant who reads slowly. */
  unread: 2000,
} as const;
