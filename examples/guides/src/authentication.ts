// Who calls: see docs/authentication.md.
import { authorize, type Connection, createSession, RpcError, type Session } from "@quicrpc/core";
import { messagePortTransport, receiveGreeting } from "@quicrpc/core/transport";
import { connect, type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { createOrdersRouter, type OrdersHandlers } from "./generated/orders.js";

export interface User {
  readonly userId: string;
  readonly scopes: readonly string[];
  /** Seconds since 1970 at which the token expires. */
  readonly exp: number;
}

/** Finds the user of a token. */
export interface Users {
  byToken(token: string | undefined): Promise<User | undefined>;
}

type Where = Required<Pick<ServeOptions<User>, "listen" | "tls">>;

export async function serveOrders(
  { listen, tls }: Where,
  users: Users,
  handlers: OrdersHandlers<User>,
): Promise<Server> {
  // #region server
  const server = await serve({
    listen, // ["quic://[::]:4433", "wss://[::]:443/rpc", "unix:/run/orders.sock"]
    tls,
    routers: [createOrdersRouter<User>(handlers)],
    authenticate: async ({ credentials }: Peer) => {
      const user = await users.byToken(await credentials);
      if (user === undefined) throw new RpcError("unauthenticated", "sign in first");
      return user; // handlers find it as context.connection
    },
  });
  // #endregion server
  return server;
}

/** Renews its token when necessary. */
interface SignIn {
  token(): Promise<string>;
}

export async function connectAs(url: string, signIn: SignIn): Promise<Connection> {
  // #region client
  const connection = await connect(url, { credentials: () => signIn.token() }); // Node, or a page with connect of @quicrpc/browser
  // #endregion client
  return connection;
}

/** Serves a port of a worker or a page, for programs without `serve`. */
export async function servePort(
  port: MessagePort,
  users: Users,
  handlers: OrdersHandlers<User | undefined>,
): Promise<Session> {
  const routers = [createOrdersRouter<User | undefined>(handlers)];
  // #region port
  const transport = messagePortTransport(port, "server");
  const { credentials } = await receiveGreeting(transport);
  const session = createSession(transport, { routers, connection: await users.byToken(credentials) });
  // #endregion port
  return session;
}

export async function serveWithRenewal(
  { listen, tls }: Where,
  users: Users,
  handlers: OrdersHandlers<User>,
): Promise<Server> {
  const routers = [createOrdersRouter<User>(handlers)];
  const verify = async (token: string | undefined): Promise<User> => {
    const user = await users.byToken(token);
    if (user === undefined) throw new RpcError("unauthenticated", "sign in first");
    return user;
  };
  // #region renewal
  const server = await serve({
    listen,
    tls,
    routers,
    authenticate: async ({ credentials }) => verify(await credentials), // { userId, scopes, exp }
    advanced: { expiresAt: ({ exp }) => exp * 1000, subjectOf: ({ userId }) => userId, expiryGraceMs: 10_000 },
  });
  // #endregion renewal
  return server;
}

export async function serveScoped(
  { listen, tls }: Where,
  users: Users,
  handlers: OrdersHandlers<User | undefined>,
): Promise<Server> {
  const routers = [createOrdersRouter<User | undefined>(handlers)];
  const authenticate = async ({ credentials }: Peer): Promise<User | undefined> => users.byToken(await credentials);
  // #region scopes
  const server = await serve({
    listen,
    tls,
    routers,
    authenticate,
    interceptors: [authorize<User | undefined>({ scopesOf: ({ context }) => context.connection?.scopes })],
  });
  // #endregion scopes
  return server;
}
