import { createHash, randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import type {
  PageClient,
  Person,
  WhiteboardJoinInput,
  WhiteboardJoinItem,
  WhiteboardPointInput,
} from "../generated/whiteboard.js";
import { Audience, type Mailbox } from "./audience.js";

/** Degrees between colours. */
const HUE_STEP = 30;

/** What the server knows of a session: who has come by it, once somebody has joined. */
export class Seat {
  taken: { readonly person: Person; readonly page: PageClient } | undefined;
  /** Cursors that were sent to the page. */
  cursors = 0;

  /** Throws where nobody has joined. */
  get person(): Person {
    if (this.taken === undefined) throw new RpcError("failed_precondition", "join first");
    return this.taken.person;
  }
}

/** Who is there. */
export class Lobby {
  private readonly server: string = randomUUID();
  private readonly seats: Set<Seat> = new Set();
  private readonly audience: Audience<readonly Person[]> = new Audience();

  /** Takes the seat until the stream is left or the signal fires. */
  async *join(
    seat: Seat,
    { name, secret }: WhiteboardJoinInput,
    page: PageClient,
    signal: AbortSignal,
  ): AsyncGenerator<WhiteboardJoinItem> {
    if (seat.taken !== undefined) throw new RpcError("failed_precondition", "this session has joined already");
    const presence: Mailbox<readonly Person[]> = this.audience.listen(signal);
    const id = idOf(secret);
    const person = { id, name: name.trim(), hue: this.hueFor(id) };
    seat.taken = { person, page };
    this.seats.add(seat);
    this.tell();
    try {
      for await (const people of presence) yield { you: id, server: this.server, people: [...people] };
    } finally {
      this.seats.delete(seat);
      seat.taken = undefined;
      this.tell();
    }
  }

  /** Shows everyone else where a participant points. */
  point(from: Seat, { x, y }: WhiteboardPointInput): void {
    const by = from.person.id;
    for (const seat of this.seats) {
      if (seat === from) continue;
      // A page that is leaving needs no cursor.
      seat.taken?.page.cursor({ by, x, y, count: seat.cursors++ }).catch(() => {});
    }
  }

  /** A participant whose connection was replaced may have two seats for a while. */
  private tell(): void {
    const people = new Map(Array.from(this.seats, ({ person }) => [person.id, person]));
    this.audience.tell([...people.values()]);
  }

  /** The colour that is told best from everyone else's; the id says which of several. */
  private hueFor(id: string): number {
    const taken = Array.from(this.seats, ({ person }) => person).filter((person) => person.id !== id);
    const distance = (hue: number): number =>
      Math.min(180, ...taken.map((person) => 180 - Math.abs(Math.abs(hue - person.hue) - 180)));
    const first = (Buffer.from(id)[0] ?? 0) * HUE_STEP;
    const hues = Array.from({ length: 360 / HUE_STEP }, (_, at) => (first + at * HUE_STEP) % 360);
    return hues.reduce((best, hue) => (distance(hue) > distance(best) ? hue : best));
  }
}

/** One id for everyone who knows the secret, which it does not tell. */
function idOf(secret: string): string {
  return createHash("sha256").update(secret).digest().toString("base64url", 0, 12);
}
