import { bytes, notify, rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** The board's size, in units of its own; pages scale it. */
const X = z.int().min(0).max(1600);
const Y = z.int().min(0).max(1000);

/** Names rather than values: each page shows them in its light or dark theme. */
const Color = z.enum(["ink", "red", "orange", "green", "blue", "violet"]);

/** Someone at the board. */
export const Person = z.object({
  id: z.string().describe("The same for one participant, whatever becomes of the connection or the server."),
  name: z.string(),
  hue: z.int().min(0).max(359),
});

/** A piece of a line. Pieces with one number are one line, of whoever draws it. */
const Piece = z.object({
  line: z.int().min(0),
  color: Color,
  width: z.int().min(1).max(40),
  points: z
    .array(z.object({ x: X, y: Y }))
    .min(1)
    .max(256),
});

/** What a participant does to the board. */
export const BoardCommand = z.discriminatedUnion("type", [
  z.object({ type: z.literal("draw"), piece: Piece }),
  z.object({ type: z.literal("undo") }).describe("Takes back the participant's latest line."),
  z.object({ type: z.literal("clear") }),
]);

/** What happens to the board. */
export const BoardEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("drawn"), by: z.string(), piece: Piece }),
  z.object({ type: z.literal("erased"), lines: z.array(z.object({ by: z.string(), line: z.int() })) }),
  z.object({ type: z.literal("shown") }).describe("All that was there has been sent; what follows is new."),
]);

/** A file that can be downloaded, until newer ones need its place. */
export const SharedFile = z.object({
  id: z.string(),
  name: z.string().min(1).max(200),
  type: z.string().max(100),
  size: z
    .int()
    .min(0)
    .max(32 * 1024 * 1024)
    .describe("Bytes."),
});

export const ChatMessage = z.object({
  id: z.int(),
  at: z.date(),
  from: Person,
  text: z.string(),
  file: SharedFile.optional(),
});

/** A board that is drawn on together. */
export const Whiteboard = service("whiteboard.v1.Whiteboard", {
  /** Takes a seat, for as long as the stream is open; tells who else has one. The other methods need a seat. */
  join: rpc({
    input: z.object({
      name: z.string().regex(/\S/).max(40),
      secret: z.string().min(16).max(64).describe("Chosen by the page: the participant's id is made from it."),
    }),
    output: stream(
      z.object({
        you: z.string(),
        server: z.string().describe("Differs each time the server starts."),
        people: z.array(Person),
      }),
    ),
  }),

  /** What is on the board and happens to it, one way; what this participant does to it, the other. */
  draw: rpc({ input: stream(BoardCommand), output: stream(BoardEvent), priority: 1 }),

  /** Where the participant points. It may be lost: the next one is on its way. */
  point: notify({ input: z.object({ x: X, y: Y }), delivery: "datagram" }),

  /** The chat, from the message after `after` on. */
  messages: rpc({ input: z.object({ after: z.int().min(0).default(0) }), output: stream(ChatMessage) }),

  say: rpc({ input: z.object({ text: z.string().regex(/\S/).max(1000) }), output: z.object({ id: z.int() }) }),

  /** Shares a file: first what it is, then its bytes in parts. It becomes a message of the chat. */
  upload: rpc({
    input: stream(
      z.discriminatedUnion("type", [
        z.object({ type: z.literal("file"), file: SharedFile.omit({ id: true }) }),
        z.object({ type: z.literal("part"), bytes: z.instanceof(Uint8Array) }),
      ]),
    ),
    output: SharedFile,
  }),

  /** Of a file that was shared. */
  download: rpc({ input: z.object({ id: z.string() }), output: bytes() }),
});

/** What each page serves to the server, on the session that it made. */
export const Page = service("whiteboard.v1.Page", {
  /** Where someone else points. `count` counts from 0 for each page, so that it knows how many were lost. */
  cursor: notify({ input: z.object({ by: z.string(), x: X, y: Y, count: z.int() }), delivery: "datagram" }),
});
