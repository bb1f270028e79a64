import { randomUUID } from "node:crypto";
import type {
  PageClient,
  Person,
  ServersTopics,
  WhiteboardJoinItem,
  WhiteboardPointInput,
} from "../generated/whiteboard.js";

/** Milliseconds between announcements of a visit, and after which one that is not announced ends. */
const TELL_MS = 2000;
const GONE_MS = 3 * TELL_MS;

/** A participant of a room, and the page that they use. */
export interface Visitor {
  readonly person: Person;
  readonly room: string;
  readonly page: PageClient;
  readonly signal: AbortSignal;
}

/** The participants of each room, on all servers. */
export class Lobby {
  private readonly servers: ServersTopics;

  constructor(servers: ServersTopics) {
    this.servers = servers;
  }

  /** Takes part in a room until the stream is closed or the signal fires. */
  async *join(visitor: Visitor): AsyncGenerator<WhiteboardJoinItem> {
    const { person, room, signal } = visitor;
    const visit = randomUUID();
    const tell = (type: "came" | "here" | "left"): void => {
      this.servers.visits.publish({ room, message: { type, visit, person } }).catch(() => {});
    };
    const visits = await this.servers.visits.subscribe({ room });
    const onAbort = (): unknown => visits.return?.();
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const timer = setInterval(() => tell("here"), TELL_MS);
    // Whatever ends it ends the visits too.
    this.showPointers(visitor).catch(() => {});
    const present = new Map<string, { person: Person; until: number }>();
    let known = "";
    let turn = 0;
    tell("came");
    try {
      for await (const { message } of visits) {
        const now = Date.now();
        if (message.type === "left") present.delete(message.visit);
        else present.set(message.visit, { person: message.person, until: now + GONE_MS });
        // A new participant does not know the others yet.
        if (message.type === "came" && message.visit !== visit) tell("here");
        for (const [each, { until }] of present) if (until < now) present.delete(each);
        // A participant whose session was lost may have two visits for a while.
        const people = [...new Map(Array.from(present.values(), ({ person }) => [person.id, person])).values()];
        if (JSON.stringify(people) === known) continue;
        known = JSON.stringify(people);
        yield { turn: `${visit}.${turn++}`, visit, you: person.id, people };
      }
    } finally {
      clearInterval(timer);
      signal.removeEventListener("abort", onAbort);
      await visits.return?.();
      tell("left");
    }
  }

  /** Shows the pointers of all others on a participant's page. */
  private async showPointers({ person, room, page, signal }: Visitor): Promise<void> {
    const pointers = await this.servers.pointers.subscribe({ room });
    const onAbort = (): unknown => pointers.return?.();
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    let count = 0;
    // A page that is leaving needs no cursor.
    for await (const { message } of pointers) {
      if (message.by !== person.id) page.cursor({ ...message, count: count++ }).catch(() => {});
    }
  }

  /** Shows a participant's pointer to everyone else. */
  async point(by: string, { room, x, y }: WhiteboardPointInput): Promise<void> {
    await this.servers.pointers.publish({ room, message: { by, x, y } });
  }
}
