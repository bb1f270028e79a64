import {
  type CloseInfo,
  createMemoryPair,
  type DirectSession,
  type ForeignClient,
  webSocketTransport,
} from "@quicrpc/core/transport";
import type { HttpProvider, HttpSettings } from "@quicrpc/browser";
import { createSession, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { vi } from "vitest";

const text = uncheckedCodec<string>();
const service = { name: "test.v1.Browser", id: 78 };
export const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  /** Answered when the test says so, by `Network.answer`. */
  wait: defineMethod(service, "unary", "wait", { id: 2, input: text, output: text }),
};

/** A transport's reaction to an attempt to connect; "mute" accepts, and carries nothing. */
export type Answer = "accept" | "refuse" | "silence" | "missing" | "mute";

/** Time passes, and all that follows from it happens. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** The server, the way to it, and the globals of a page that leads there. */
export class Network {
  webTransport: Answer = "accept";
  webSocket: Answer = "accept";
  http: "accept" | "refuse" | "silence" = "accept";
  /** The server's sessions, in the order that they were made. */
  readonly sessions: Session[] = [];
  /** Each attempt, as "webtransport https://…", and each that was closed before it was open. */
  readonly log: string[] = [];
  /** Where the page's events come from. */
  readonly page: EventTarget = new EventTarget();
  offeredProtocols: unknown;
  /** Settings that the latest client of HTTP got. */
  httpSettings: HttpSettings | undefined;
  /** Entries that pages have left in the browser's storage. */
  readonly stored: Map<string, string> = new Map();
  /** Answers the latest call of `wait`. */
  answer: (text: string) => void = () => {};
  /** Ends the latest session over WebTransport without a word. */
  lose: () => void = () => {};
  /** From here on the latest session over WebTransport carries nothing to the server. */
  stall: () => void = () => {};

  /** Calls over HTTP, without a session. */
  readonly httpProvider: HttpProvider = {
    name: "HTTP",
    dial: async (url: URL, settings: HttpSettings): Promise<ForeignClient> => {
      this.log.push(`http ${url.href}`);
      this.httpSettings = settings;
      const [near, far] = createMemoryPair();
      this.serve(far);
      const calls = createSession(near);
      return {
        start: calls.start.bind(calls),
        closed: calls.closed,
        close: (info) => void calls.close(info),
        idle: async () => void (await calls.drain({ timeoutMs: Infinity })),
        ping: () => {
          if (this.http === "refuse") return Promise.reject(new Error("Failed to fetch"));
          return this.http === "accept" ? calls.ping() : calls.closed.then(() => Promise.reject(new Error("closed")));
        },
      };
    },
  };

  /** Close code of a WebSocket that is refused. */
  refusalCode = 1006;

  /** Has each transport answer so, in a new page. */
  given(webTransport: Answer, webSocket: Answer = "accept"): void {
    this.webTransport = webTransport;
    this.webSocket = webSocket;
    this.install();
  }

  /** Puts the page's globals in place; `vi.unstubAllGlobals` takes them away. */
  install(): void {
    vi.stubGlobal("WebTransport", this.webTransport === "missing" ? undefined : fakeWebTransport(this));
    vi.stubGlobal("WebSocket", this.webSocket === "missing" ? undefined : fakeWebSocket(this));
    vi.stubGlobal("addEventListener", this.page.addEventListener.bind(this.page));
    vi.stubGlobal("removeEventListener", this.page.removeEventListener.bind(this.page));
    vi.stubGlobal("document", { visibilityState: "visible" });
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => this.stored.get(key) ?? null,
      setItem: (key: string, text: string) => void this.stored.set(key, text),
      removeItem: (key: string) => void this.stored.delete(key),
    });
  }

  serve(transport: DirectSession): void {
    const router = createRouter(methods, {
      echo: (input) => input,
      wait: () =>
        new Promise((resolve) => {
          this.answer = resolve;
        }),
    });
    this.sessions.push(createSession(transport, { routers: [router] }));
  }
}

type Constructor = new (url: URL, options: unknown) => object;

function fakeWebTransport(network: Network): Constructor {
  return class implements DirectSession {
    readonly ready: Promise<void>;
    readonly closed: Promise<CloseInfo> = new Promise(() => {});
    private readonly near: DirectSession;
    private fail!: (error: Error) => void;
    private open = false;
    private stalled = false;

    constructor(url: URL, options: { protocols: string[] }) {
      network.log.push(`webtransport ${url.href}`);
      network.offeredProtocols = options.protocols;
      const [near, far] = createMemoryPair();
      this.near = near;
      this.ready = new Promise((resolve, reject) => {
        this.fail = reject;
        if (network.webTransport === "refuse") reject(new Error("Opening handshake failed."));
        if (network.webTransport !== "accept" && network.webTransport !== "mute") return;
        this.open = true;
        if (network.webTransport === "accept") network.serve(far);
        resolve();
      });
    }

    attach(handler: Parameters<DirectSession["attach"]>[0]): void {
      network.lose = () => {
        this.near.close({ closeCode: 1 });
        handler.onClosed({}, new Error("the connection is lost"));
      };
      this.near.attach(handler);
    }

    openStream(): ReturnType<DirectSession["openStream"]> {
      const stream = this.near.openStream();
      const write = stream.write.bind(stream);
      stream.write = (bytes, end) => this.stalled || write(bytes, end);
      network.stall = () => {
        this.stalled = true;
      };
      return stream;
    }

    close(info?: CloseInfo): void {
      if (!this.open) network.log.push("webtransport given up");
      this.fail(new Error("closed"));
      this.near.close(info);
    }
  } as Constructor;
}

/** One end of a WebSocket, as far as sessions use it. */
class Socket extends EventTarget {
  binaryType = "";
  readyState = 0;
  readonly bufferedAmount = 0;
  peer: Socket | undefined;

  send(data: Uint8Array<ArrayBuffer>): void {
    const { peer } = this;
    queueMicrotask(() => peer?.dispatchEvent(new MessageEvent("message", { data: data.slice().buffer })));
  }

  close(code = 1000): void {
    for (const end of [this, this.peer]) end?.end(code);
  }

  start(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }

  end(code: number): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    queueMicrotask(() => this.dispatchEvent(Object.assign(new Event("close"), { code, reason: "" })));
  }
}

function fakeWebSocket(network: Network): Constructor {
  return class extends Socket {
    constructor(url: URL, protocols: unknown) {
      super();
      network.log.push(`websocket ${url.href}`);
      network.offeredProtocols = protocols;
      if (network.webSocket === "refuse") this.end(network.refusalCode);
      if (network.webSocket === "accept") queueMicrotask(() => this.accept());
    }

    override close(code?: number): void {
      if (this.readyState === 0) network.log.push("websocket given up");
      super.close(code);
    }

    private accept(): void {
      if (this.readyState !== 0) return;
      this.peer = new Socket();
      this.peer.peer = this;
      this.peer.readyState = 1;
      // As the ws package's sockets are: core asks for no more than this.
      network.serve(webSocketTransport(this.peer as unknown as Parameters<typeof webSocketTransport>[0], "server"));
      this.start();
    }
  };
}
