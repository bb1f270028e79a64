import type { Limits, Session } from "@quicrpc/core";
import { http2Transport } from "@quicrpc/fails-components";
import { type DevCertificate, serve, type Server } from "@quicrpc/node";
import type { EndpointStats } from "@quicrpc/quic";
import { methods, Witness } from "../behaviour/service.js";
import { servedOptions, sessionOptions } from "../behaviour/session-options.js";
import { collect } from "../behaviour/tools.js";
import { MeetingPoint } from "./meeting-point.js";
import type { Answered, Meeting, Remote, Seen } from "./page/remote.js";

interface Running {
  readonly server: Server;
  readonly session: Promise<Session>;
  readonly witness: Witness;
  /** Who waits for the witness's next event. */
  waiting: (() => void) | undefined;
  stopped: boolean;
}

/** The servers of pages that run behaviours: one for each pair of sessions, so that each has limits of its own. */
export class RemoteServers implements Remote {
  private readonly certificate: DevCertificate;
  private readonly running: Map<number, Running> = new Map();
  private count = 0;
  private meeting: Promise<MeetingPoint> | undefined;

  constructor(certificate: DevCertificate) {
    this.certificate = certificate;
  }

  async start(limits: Partial<Limits>, maxStreams?: number): ReturnType<Remote["start"]> {
    const { cert, key, hash } = this.certificate;
    const id = ++this.count;
    const tell = (): void => {
      const { waiting } = running;
      running.waiting = undefined;
      waiting?.();
    };
    const witness = new (class extends Witness {
      override saw(event: string): void {
        super.saw(event);
        tell();
      }
    })();
    let onSession!: (session: Session) => void;
    const session = new Promise<Session>((resolve) => {
      onSession = resolve;
    });
    const server = await serve({
      ...servedOptions(sessionOptions(witness, limits)),
      listen: ["https://127.0.0.1:0/rpc"],
      webSocket: true,
      tls: { cert, key },
      advanced: {
        transports: [http2Transport()],
        onSession,
        ...(typeof maxStreams === "number" && { transport: { maxStreams } }),
      },
    });
    const running: Running = { server, session, witness, waiting: undefined, stopped: false };
    this.running.set(id, running);
    return { id, url: server.urls[0] as string, hash: [...hash.value] };
  }

  async seen(id: number, events: number): Promise<Seen | undefined> {
    const running = this.running.get(id);
    if (running === undefined) return undefined;
    const { witness } = running;
    if (witness.events.length === events) await new Promise<void>((resolve) => (running.waiting = resolve));
    if (running.stopped) return undefined;
    const errors = witness.errors.map(({ error, method }) => ({
      error: { message: (error as Error).message },
      method,
    }));
    return { events: witness.events.slice(events), errors };
  }

  async release(id: number, name: string): Promise<void> {
    this.running.get(id)?.witness.release.get(name)?.();
  }

  async session(id: number, what: string, ...given: never[]): Promise<Answered> {
    const running = this.running.get(id);
    if (running === undefined) throw new Error("there is no such server");
    const value = await this.ask(await running.session, what, given);
    return { value, events: running.witness.events.length };
  }

  private async ask(session: Session, what: string, given: never[]): Promise<unknown> {
    if (what === "unary") {
      const [name, input, options] = given as unknown as ["echo", { text: string }, object];
      return session.unary(methods[name], input, options);
    }
    if (what === "serverStream") {
      const [name, input, options] = given as unknown as ["items", { n: number }, object];
      return collect(session.serverStream(methods[name], input, options));
    }
    if (what === "closed") return session.closed;
    if (what === "close" || what === "drain") return session[what](...given);
    if (what === "ping") return session.ping();
    throw new TypeError(`a page asked for ${what} of its server's session`);
  }

  async stop(id: number): Promise<void> {
    const running = this.running.get(id);
    if (running === undefined) return;
    this.running.delete(id);
    running.stopped = true;
    running.waiting?.();
    await running.server.close();
  }

  async meet(): Promise<Meeting> {
    this.meeting ??= MeetingPoint.open(this.certificate);
    return (await this.meeting).address;
  }

  /** Returns the counters of the server at which the ends of sessions in the page meet; undefined without one. */
  async meetingStats(): Promise<EndpointStats | undefined> {
    return (await this.meeting)?.stats;
  }

  async stopAll(): Promise<void> {
    const meeting = await this.meeting;
    this.meeting = undefined;
    await meeting?.close();
    await Promise.all([...this.running.keys()].map((id) => this.stop(id)));
  }
}
