import { createSession } from "@quicrpc/core";
import { messagePortTransport } from "@quicrpc/core/transport";
import { dial, type Server } from "@quicrpc/node";
import { expect, it, onTestFinished, vi } from "vitest";
import {
  connectAs,
  serveOrders,
  servePort,
  serveScoped,
  serveWithRenewal,
  type User,
  type Users,
} from "./authentication.js";
import { createOrdersClient, type OrdersHandlers } from "./generated/orders.js";

const inAnHour = Math.floor(Date.now() / 1000) + 3600;
const ann: User = { userId: "ann", scopes: [], exp: inAnHour };
const users: Users = {
  byToken: async (token) =>
    ({ "ann's": ann, "ann's newer": ann, "clerk's": { userId: "clerk", scopes: ["orders:write"], exp: inAnHour } })[
      token ?? ""
    ],
};
const where = { listen: "tcp://127.0.0.1:0", tls: [] };

/** Shows who asks in what it answers. */
const handlers: OrdersHandlers<User | undefined> = {
  async *list(_, { connection }) {
    yield { id: "1", item: connection?.userId ?? "nobody" };
  },
  prices: () => ({ tea: 3 }),
  cancel() {},
};

/** Closed when the test is over, the last first. */
function kept<One extends { close(): unknown }>(one: One): One {
  onTestFinished(async () => void (await one.close()));
  return one;
}

async function listed(url: string | undefined, token: string): Promise<string[]> {
  const connection = kept(await connectAs(url ?? "", { token: async () => token }));
  const items: string[] = [];
  for await (const { item } of createOrdersClient(connection).list()) items.push(item);
  return items;
}

it("a token decides who a client is, and whether it has a session", async () => {
  const { urls } = kept(await serveOrders(where, users, handlers));
  expect(await listed(urls[0], "ann's")).toEqual(["ann"]);
  await expect(listed(urls[0], "a stranger's")).rejects.toMatchObject({ code: "unauthenticated" });
});

it("the same where a session is made by hand", async () => {
  const { port1, port2 } = new MessageChannel();
  const serving = servePort(port1, users, handlers);
  const session = kept(createSession(messagePortTransport(port2, "client"), { credentials: "ann's" }));
  kept(await serving);
  const items = [];
  for await (const { item } of createOrdersClient(session).list()) items.push(item);
  expect(items).toEqual(["ann"]);
});

it("a client whose token is renewed keeps its session", async () => {
  const server: Server = kept(await serveWithRenewal(where, users, handlers));
  const token = vi.fn<() => Promise<string>>(async () => "ann's newer").mockResolvedValueOnce("ann's");
  const connection = kept(await connectAs(server.urls[0] ?? "", { token }));
  const { session } = connection;
  // The client answers at some moment of the first half of `withinMs`: here at once.
  vi.spyOn(Math, "random").mockReturnValue(0);
  for (const one of server.sessions) one.demandCredentials();
  await vi.waitUntil(() => token.mock.calls.length === 2);
  vi.restoreAllMocks();
  const items = [];
  for await (const { item } of createOrdersClient(connection).list()) items.push(item);
  expect(items).toEqual(["ann"]);
  expect(connection.session).toBe(session);
});

it("the schema says what a caller may", async () => {
  const { urls } = kept(await serveScoped(where, users, handlers));
  const as = async (credentials?: string): Promise<ReturnType<typeof createOrdersClient>> =>
    createOrdersClient(kept(await dial(urls[0] ?? "", { ...(credentials !== undefined && { credentials }) })));
  expect(await (await as()).prices()).toEqual({ tea: 3 });
  await expect((await as()).cancel({ id: "1" })).rejects.toMatchObject({ code: "unauthenticated" });
  await expect((await as("ann's")).cancel({ id: "1" })).rejects.toThrow(/orders:write/);
  expect(await (await as("clerk's")).cancel({ id: "1" })).toBeUndefined();
});
