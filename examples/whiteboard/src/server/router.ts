import type { Router } from "@quicrpc/core";
import { createPageClient, createWhiteboardRouter } from "../generated/whiteboard.js";
import { Board } from "./board.js";
import { Chat } from "./chat.js";
import { Files } from "./files.js";
import { Lobby, type Seat } from "./lobby.js";

/** One board with its chat and files; each session has a seat. */
export function whiteboardRouter(): Router<Seat> {
  const lobby = new Lobby();
  const board = new Board();
  const chat = new Chat();
  const files = new Files();

  return createWhiteboardRouter<Seat>({
    join: (input, { connection: seat, session, signal }) => lobby.join(seat, input, createPageClient(session), signal),

    draw: (commands, { connection: seat, signal }) => board.open(seat.person.id, commands, signal),

    point: (where, { connection: seat }) => lobby.point(seat, where),

    messages: ({ after }, { connection: seat, signal }) => {
      requireSeat(seat);
      return chat.since(after, signal);
    },

    say: ({ text }, { connection: seat }) => ({ id: chat.say(seat.person, text.trim()).id }),

    async upload(items, { connection: seat }) {
      const { person } = seat;
      const file = await files.receive(items);
      chat.say(person, "", file);
      return file;
    },

    download: ({ id }, { connection: seat }) => {
      requireSeat(seat);
      return files.partsOf(id);
    },
  });
}

function requireSeat(seat: Seat): void {
  void seat.person;
}
