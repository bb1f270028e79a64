// A client proves itself anew while its session goes on.
import { authorize, createSession, interceptRouter, RpcError, type Session } from "@quicrpc/core";
import { type AnyMethod, createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { RenewalOptions, RenewedConnection } from "@quicrpc/core/internal";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deferred } from "../../packages/core/src/deferred.js";
import { kindsFor, type LocalKind } from "./kinds.js";

const service = { name: "test.v1.Renewal", id: 4720 };
const output = uncheckedCodec<string>();
const methods = {
  who: defineMethod(service, "unary", "who", { id: 1, output }),
  held: defineMethod(service, "unary", "held", { id: 2, output }),
  watch: defineMethod(service, "server_stream", "watch", { id: 3, output }),
  admin: defineMethod(service, "server_stream", "admin", { id: 4, output }),
  denied: defineMethod(service, "unary", "denied", { id: 5, output }),
};

interface User {
  readonly name: string;
  readonly token: string;
  readonly scopes: readonly string[];
}

/** A token is a name, a number and scopes: "ann 1 read,admin". */
function userOf(token: string | undefined): User {
  const [name = "", , scopes = ""] = (token ?? "").split(" ");
  if (name === "nobody") throw new RpcError("unauthenticated", "nobody is known");
  return { name, token: token ?? "", scopes: scopes.split(",") };
}

beforeEach(() => {
  // Renewals that the server demands are spread at random: here they come at once.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface Renewing {
  readonly client: Session;
  readonly server: Session;
  /** Has the calls of `held` answered. */
  readonly let: () => void;
  /** Tokens that the server has decided about. */
  readonly seen: string[];
  readonly asked: () => number;
  close(): Promise<void>;
}

describe.each(kindsFor("C83") as readonly LocalKind[])("renewed credentials: $name", ({ join, face }) => {
  async function renewing(tokens: readonly (string | undefined)[]): Promise<Renewing> {
    const { client: near, server: far, release } = await join();
    const gate = deferred<void>();
    const seen: string[] = [];
    let asked = 0;
    const router = createRouter<typeof methods, User>(methods, {
      who: (_, { connection }) => connection.token,
      held: async (_, context) => {
        await gate.promise;
        return `${context.connection.token}, then ${context.latestConnection.token}`;
      },
      async *watch(_, { connection, signal }) {
        yield connection.token;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      async *admin(_, { connection, signal }) {
        yield connection.token;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      denied: () => {
        throw new RpcError("unauthenticated", "your token is old");
      },
    });
    const scopesOf = ({ context }: { context: unknown }): readonly string[] =>
      (context as { connection: User }).connection.scopes;
    const permissionOf = ({ name }: AnyMethod): readonly string[] =>
      name === "admin" || name === "watch" ? [name === "admin" ? "admin" : "read"] : [];
    const first = userOf(tokens[0]);
    const renewal: RenewalOptions<User> = {
      async renew({ credentials }): Promise<RenewedConnection<User>> {
        seen.push(credentials ?? "none");
        const connection = userOf(credentials);
        if (connection.name !== first.name) throw new RpcError("permission_denied", "another subject");
        return { connection };
      },
    };
    const server = createSession<User>(face(far), {
      routers: [interceptRouter(router, [authorize({ scopesOf, permissionOf })])],
      connection: first,
      renewal,
    });
    const client = createSession(face(near), {
      credentials: tokens[0] as string,
      renewCredentials: async () => tokens[++asked],
    });
    const close = async (): Promise<void> => {
      await client.close();
      await server.closed;
      await release();
    };
    return { client, server, let: () => gate.resolve(), seen, asked: () => asked, close };
  }

  const until = (session: Session, token: string): Promise<void> =>
    vi.waitFor(async () => expect(await session.unary(methods.who, undefined)).toBe(token), { interval: 1 });

  it("C83 calls that begin afterwards have the new identity, those in progress keep theirs and can look at it", async () => {
    const session = await renewing(["ann 1 read", "ann 2 read"]);
    const { client, server } = session;
    const held = client.unary(methods.held, undefined);
    const items = client.serverStream(methods.watch, undefined)[Symbol.asyncIterator]();
    expect(await items.next()).toMatchObject({ value: "ann 1 read" });
    server.demandCredentials();
    await until(client, "ann 2 read");
    session.let();
    expect(await held).toBe("ann 1 read, then ann 2 read");
    expect(client.takesCalls).toBe(true);
    await items.return?.();
    await session.close();
  });

  it("C83 streams whose scope is gone end, and others go on", async () => {
    const session = await renewing(["ann 1 read,admin", "ann 2 read"]);
    const { client, server } = session;
    const watch = client.serverStream(methods.watch, undefined)[Symbol.asyncIterator]();
    const admin = client.serverStream(methods.admin, undefined)[Symbol.asyncIterator]();
    await Promise.all([watch.next(), admin.next()]);
    server.demandCredentials();
    await expect(admin.next()).rejects.toMatchObject({
      code: "permission_denied",
      message: expect.stringContaining("admin"),
    });
    const rest = watch.next();
    expect(await client.unary(methods.who, undefined)).toBe("ann 2 read");
    expect(client.takesCalls).toBe(true);
    await watch.return?.();
    await rest;
    await session.close();
  });

  it("C83 another subject's are those of another session: this one drains", async () => {
    const session = await renewing(["ann 1 read", "bob 1 read"]);
    await session.client.unary(methods.who, undefined);
    session.server.demandCredentials();
    await session.client.draining;
    expect(session.seen).toEqual(["bob 1 read"]);
    await session.close();
  });

  it("C83 refused ones, or none, drain the session", async () => {
    const refused = await renewing(["ann 1 read", "nobody"]);
    await refused.client.unary(methods.who, undefined);
    refused.server.demandCredentials();
    await refused.client.draining;
    expect(refused.seen).toEqual(["nobody"]);
    await refused.close();
    const none = await renewing(["ann 1 read", undefined]);
    await none.client.unary(methods.who, undefined);
    none.server.demandCredentials({ withinMs: 20 });
    await none.client.draining;
    expect(none.seen).toEqual([]);
    await none.close();
  });

  it("C83 a call that fails with unauthenticated has them asked for, once for many calls", async () => {
    const session = await renewing(["ann 1 read", "ann 2 read", "ann 3 read"]);
    const { client } = session;
    const calls = Array.from({ length: 20 }, () => client.unary(methods.denied, undefined));
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "unauthenticated" });
    await until(client, "ann 2 read");
    await expect(client.unary(methods.denied, undefined)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(session.asked()).toBe(1);
    await session.close();
  });
});
