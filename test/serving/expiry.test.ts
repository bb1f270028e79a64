// Sessions end with what their clients have proven themselves with, and begin anew with the next.
import type { CallContext, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connect, serve } from "@quicrpc/node";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { closedAfterEach } from "../open.js";

const open = closedAfterEach();
const service = { name: "test.v1.Expiry", id: 4716 };
const output = uncheckedCodec<string>();
const methods = {
  who: defineMethod(service, "unary", "who", { id: 1, output }),
  watch: defineMethod(service, "server_stream", "watch", { id: 2, output }),
};

interface User {
  readonly token: string;
  readonly expiresAt: number;
}

const router = createRouter<typeof methods, User>(methods, {
  who: (_, { connection }) => connection.token,
  async *watch(_, { connection, signal }: CallContext<User>) {
    yield connection.token;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  },
});

/** Sockets are real, and clocks are not. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it("calls go on with the next token, and streams of the old one end after the grace time", async () => {
  const server = await serve({
    listen: "tcp://127.0.0.1:0",
    routers: [router],
    authenticate: async ({ credentials }): Promise<User> => {
      const token = (await credentials) ?? "none";
      return { token, expiresAt: Date.now() + (token === "token 1" ? 500 : 60_000) };
    },
    advanced: { expiresAt: ({ expiresAt }) => expiresAt, expiryGraceMs: 300 },
  });
  open.push(server);
  let tokens = 0;
  const connection = await connect(server.urls[0] as string, { credentials: () => `token ${++tokens}` });
  open.push(connection);
  const items = connection.serverStream(methods.watch, undefined)[Symbol.asyncIterator]();
  expect(await items.next()).toMatchObject({ value: "token 1" });
  let endedAt: number | undefined;
  const end = items.next().then(
    () => undefined,
    (error: unknown) => {
      endedAt = performance.now();
      return error as RpcError;
    },
  );
  const begun = performance.now();
  const answers: string[] = [];
  while (performance.now() - begun < 700 || answers.at(-1) === "token 1") {
    answers.push(await connection.unary(methods.who, undefined));
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(new Set(answers)).toEqual(new Set(["token 1", "token 2"]));
  expect(endedAt).toBeUndefined();
  await vi.advanceTimersByTimeAsync(150);
  expect(await end).toMatchObject({ code: "unavailable" });
});

it("a session goes on with the next token of the same subject, and its streams with it", async () => {
  const EXPIRES_MS = 1000;
  const timers = vi.spyOn(globalThis, "setTimeout");
  let sessions = 0;
  const server = await serve({
    listen: "tcp://127.0.0.1:0",
    routers: [router],
    authenticate: async ({ credentials, metadata }): Promise<User> => {
      expect((await metadata).get("app")).toBe("1");
      const token = (await credentials) ?? "none";
      return { token, expiresAt: Date.now() + (token === "token 1" ? EXPIRES_MS : 60_000) };
    },
    advanced: {
      expiresAt: ({ expiresAt }) => expiresAt,
      subjectOf: () => "ann",
      expiryGraceMs: 0,
      onSession: () => sessions++,
    },
  });
  open.push(server);
  let tokens = 0;
  const connection = await connect(server.urls[0] as string, {
    credentials: () => `token ${++tokens}`,
    advanced: { metadata: { app: "1" } },
  });
  open.push(connection);
  const items = connection.serverStream(methods.watch, undefined)[Symbol.asyncIterator]();
  await items.next();
  // The client loads what renews credentials, which takes as long as it takes, whatever its clock says.
  while (!timers.mock.calls.some(([, ms]) => ms !== undefined && ms > 0.6 * EXPIRES_MS && ms < 0.9 * EXPIRES_MS)) {
    await new Promise(setImmediate);
  }
  let ended = false;
  items.next().then(
    () => (ended = true),
    () => (ended = true),
  );
  while ((await connection.unary(methods.who, undefined)) === "token 1") await vi.advanceTimersByTimeAsync(10);
  // Had the renewal come after the first token expired, the stream would have ended with it.
  await vi.advanceTimersByTimeAsync(EXPIRES_MS + 50);
  expect(await connection.unary(methods.who, undefined)).toBe("token 2");
  expect(ended).toBe(false);
  expect({ sessions, tokens }).toEqual({ sessions: 1, tokens: 2 });
});

it("a session whose end cannot be told is refused", async () => {
  const problems: unknown[] = [];
  const server = await serve({
    listen: "tcp://127.0.0.1:0",
    routers: [router],
    authenticate: (): User => ({ token: "a", expiresAt: Number.NaN }),
    onError: (error) => problems.push(error),
    advanced: { expiresAt: ({ expiresAt }) => expiresAt },
  });
  open.push(server);
  const refused = (async () => {
    const connection = await connect(server.urls[0] as string);
    open.push(connection);
    await connection.unary(methods.who, undefined, { timeoutMs: 5000 });
  })();
  await expect(refused).rejects.toThrow("the server could not accept the session");
  expect(String(problems[0])).toContain("expiresAt must return a date");
});
