import { notify, rpc, service, stream } from "@quicrpc/core";
import { blob } from "@quicrpc/blobs";
import { topic } from "@quicrpc/topics";
import { z } from "zod";

/** The board's size, in units of its own; pages scale it. */
const X = z.int().min(0).max(1600);
const Y = z.int().min(0).max(1000);

/** Names rather than values: each page shows them in its light or dark theme. */
const Color = z.enum(["ink", "red", "orange", "green", "blue", "violet"]);

const Room = z.string().regex(/^[\w-]{1,40}$/);

/** Someone at the board. */
export const Person = z.object({
  id: z.string().describe("The same for one participant, whatever becomes of the connection or the server."),
  name: z.string().regex(/\S/).max(40),
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

/** A participant's change of the board. */
export const BoardCommand = z.discriminatedUnion("type", [
  z.object({ type: z.literal("draw"), piece: Piece }),
  z.object({ type: z.literal("undo") }).describe("Takes back the participant's latest line."),
  z.object({ type: z.literal("clear") }),
]);
const Commands = z.array(BoardCommand).min(1).max(64);

/** Names what a page does, so that a call which is repeated does it once. */
const Id = z.string().min(1).max(64);

/** Changes that one participant made: all of them, in their order, make the board. */
export const BoardChange = z.object({ by: z.string(), id: Id, commands: Commands });

/** A file that can be downloaded, until newer ones need its place. */
export const SharedFile = z.object({
  id: z.string(),
  name: z.string().min(1).max(200),
  type: z.string().max(100),
  size: z.int().min(0).describe("Bytes."),
});

export const ChatMessage = z.object({ at: z.date(), from: Person, text: z.string(), file: SharedFile.optional() });

// #region board
/** A board that is drawn on together. */
export const Whiteboard = service("whiteboard.v1.Whiteboard", {
  /** Changes of a room's board. */
  board: topic("board.{room}", BoardChange, { history: true, priority: 1 }),

  /** Does something to the board. */
  change: rpc({ input: z.object({ room: Room, id: Id, commands: Commands }), idempotent: true }),
  // #endregion board

  /** Takes part in a room for as long as the stream is open; tells who else does, at first and whenever that changes. */
  join: rpc({
    input: z.object({ room: Room, name: Person.shape.name }),
    output: stream(
      z.object({
        turn: z.string(),
        visit: z.string().describe("Another one after each session that was lost."),
        you: z.string(),
        people: z.array(Person),
      }),
    ),
    cursor: "turn",
  }),

  /** Where the participant points. It may be lost: the next one is on its way. */
  point: notify({ input: z.object({ room: Room, x: X, y: Y }), delivery: "datagram" }),

  /** Messages of a room's chat. */
  chat: topic("chat.{room}", ChatMessage, { history: true }),

  /** Says something. */
  say: rpc({
    input: z.object({ room: Room, id: Id, name: Person.shape.name, text: z.string().regex(/\S/).max(1000) }),
    idempotent: true,
  }),

  /** Shares a file, which becomes a message of the chat. */
  share: rpc({
    input: z.object({
      room: Room,
      id: Id,
      name: Person.shape.name,
      file: blob({ maxBytes: 32 * 1024 * 1024 }),
    }),
    idempotent: true,
  }),

  /** A file that was shared. */
  download: rpc({ input: z.object({ id: z.string() }), output: z.object({ file: blob() }), readOnly: true }),
});

/** Service that each page offers to the server, on the session that it made. */
export const Page = service("whiteboard.v1.Page", {
  /** Where someone else points. `count` counts from 0 for each visit, so that the page knows how many were lost. */
  cursor: notify({ input: z.object({ by: z.string(), x: X, y: Y, count: z.int() }), delivery: "datagram" }),
});

/** Service between servers, which no page may call. */
export const Servers = service("whiteboard.v1.Servers", {
  /** Who is in a room. It is said again and again: who is not heard of any more is gone. */
  visits: topic(
    "visits.{room}",
    z.object({ type: z.enum(["came", "here", "left"]), visit: z.string(), person: Person }),
  ),
  /** Where someone points. */
  pointers: topic("pointers.{room}", z.object({ by: z.string(), x: X, y: Y })),
});
