import { createConnection, createSession, type Connection, RpcError, type Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { createMemoryPair } from "@quicrpc/core/transport";
import { QueryClient, QueryObserver, type QueryObserverResult } from "@tanstack/query-core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createQueries } from "./index.js";
import type { StreamedCallOptions } from "./methods.js";

const service = { name: "test.v1.Live", id: 7 };
const item = uncheckedCodec<{ readonly id: number }>();
const methods = {
  watch: defineMethod(service, "server_stream", "watch", { id: 1, output: item }),
  follow: defineMethod(service, "server_stream", "follow", { id: 2, output: item, cursor: { field: "id" } }),
};

/** A server that the test can kill and start again, with a connection to it. */
class Restarts {
  /** Cursors with which callers have called `follow`. */
  readonly cursors: (string | undefined)[] = [];
  readonly connection: Connection;
  /** Ids that the running server sends before its streams stay open or end. */
  ids: readonly number[] = [];
  isEnding = false;
  error: RpcError | undefined;
  private isUp = true;
  private server: Session | undefined;

  constructor() {
    const router = createRouter(methods, {
      watch: (_, { signal }) => this.items(signal),
      follow: (_, { signal, resumeFrom }) => {
        this.cursors.push(resumeFrom);
        return this.items(signal);
      },
    });
    const dial = (): Promise<Session> => {
      if (!this.isUp) return Promise.reject(new RpcError("unavailable", "connection refused"));
      const [near, far] = createMemoryPair();
      this.server = createSession(far, { routers: [router] });
      return Promise.resolve(createSession(near));
    };
    this.connection = createConnection(dial, {
      backoff: { initialMs: 1, maxMs: 1 },
      limits: { maxQueuedMs: 50, maxResumeMs: 50 },
    });
  }

  async kill(): Promise<void> {
    this.isUp = false;
    await this.server?.close({ closeCode: 1 });
  }

  start(ids: readonly number[]): void {
    this.ids = ids;
    this.isUp = true;
  }

  private async *items(signal: AbortSignal): AsyncGenerator<{ id: number }> {
    for (const id of this.ids) yield { id };
    if (this.error !== undefined) throw this.error;
    if (!this.isEnding) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
}

describe("a streamed query whose server restarts", () => {
  let client: QueryClient;
  let server: Restarts;
  let shown: () => QueryObserverResult<{ id: number }[], RpcError>;

  beforeEach(() => {
    server = new Restarts();
    client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  });
  afterEach(async () => {
    client.clear();
    await server.connection.close();
  });

  const show = (name: "watch" | "follow", options: StreamedCallOptions = {}): (() => void) => {
    const queries = createQueries(methods, server.connection);
    const observer = new QueryObserver(client, queries[name].streamedOptions(undefined, options));
    shown = () => observer.getCurrentResult();
    return observer.subscribe(() => {});
  };
  const showsIds = (...ids: number[]): Promise<unknown> =>
    vi.waitUntil(() => JSON.stringify(shown().data?.map(({ id }) => id)) === JSON.stringify(ids), 5000);
  const lost = (): Promise<unknown> => vi.waitUntil(() => shown().failureCount > 1, 5000);
  const open = { status: "success", fetchStatus: "fetching", failureCount: 0, failureReason: null };

  it("keeps its data, shows that it waits, and starts again", async () => {
    show("watch");
    server.start([1, 2]);
    await showsIds(1, 2);
    expect(shown()).toMatchObject(open);
    await server.kill();
    await vi.waitUntil(() => shown().failureCount > 1 && shown().fetchStatus === "paused", 5000);
    expect(shown()).toMatchObject({
      status: "success",
      data: [{ id: 1 }, { id: 2 }],
      error: null,
      failureReason: { code: "unavailable" },
    });
    server.start([7, 8]);
    await showsIds(7, 8);
    expect(shown()).toMatchObject(open);
    await server.kill();
    server.start([9]);
    await showsIds(9);
  });

  it("continues after the last item if the schema has a cursor", async () => {
    show("follow", { keep: 3 });
    server.start([1, 2]);
    await showsIds(1, 2);
    await server.kill();
    await lost();
    server.start([3, 4]);
    await showsIds(2, 3, 4);
    expect(server.cursors.at(0)).toBeUndefined();
    expect(server.cursors.at(-1)).toBe("2");
    expect(shown()).toMatchObject(open);
  });

  it("starts again if the server no longer has the cursor", async () => {
    show("follow");
    server.start([1, 2]);
    await showsIds(1, 2);
    await server.kill();
    await lost();
    server.error = new RpcError("out_of_range", "expired", { reason: "CURSOR_EXPIRED" });
    server.start([]);
    await vi.waitUntil(() => shown().failureReason?.reason === "CURSOR_EXPIRED", 5000);
    server.error = undefined;
    server.start([5]);
    await showsIds(5);
    expect(server.cursors.at(-1)).toBeUndefined();
  });

  it("appends if that is how it is fetched again, and shows an empty stream as one", async () => {
    const end = show("watch", { refetchMode: "append" });
    server.start([1]);
    await showsIds(1);
    await server.kill();
    server.start([1]);
    await showsIds(1, 1);
    end();
    client.clear();
    show("watch");
    await showsIds(1);
    await server.kill();
    server.isEnding = true;
    server.start([]);
    await showsIds();
    expect(shown()).toMatchObject({ status: "success", fetchStatus: "idle" });
  });

  it("fails with any other error, and if no server was there at first", async () => {
    const end = show("watch");
    server.start([1]);
    await showsIds(1);
    await server.kill();
    server.error = new RpcError("permission_denied", "no longer");
    server.start([]);
    await vi.waitUntil(() => shown().status === "error", 5000);
    expect(shown()).toMatchObject({ error: { code: "permission_denied" }, data: [{ id: 1 }], fetchStatus: "idle" });
    end();
    client.clear();
    await server.kill();
    show("watch");
    await vi.waitUntil(() => shown().status === "error", 5000);
    expect(shown().error).toMatchObject({ code: "unavailable", refused: true });
  });

  it("fails once its connection is closed, and stops when no component shows it", async () => {
    const end = show("watch");
    server.start([1]);
    await showsIds(1);
    await server.kill();
    await lost();
    end();
    await vi.waitUntil(() => client.isFetching() === 0, 5000);
    show("follow");
    server.start([1]);
    await showsIds(1);
    await server.connection.close();
    await vi.waitUntil(() => shown().status === "error", 5000);
    expect(shown().data).toEqual([{ id: 1 }]);
  });
});
