// From a login to the permissions of a role: see docs/authentication.md.
import { authorize, type Connection, RpcError } from "@quicrpc/core";
import { connect, type ConnectOptions, type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { createAuthClient, createAuthRouter } from "./generated/login.js";
import { createOrdersRouter, type OrdersHandlers } from "./generated/orders.js";

// #region roles
const SCOPES = { clerk: ["orders:write"], reader: [] } as const;

export interface User {
  readonly userId: string;
  readonly role: keyof typeof SCOPES;
  /** End of the sign-in, in seconds since 1970. */
  readonly exp: number;
}
// #endregion roles

/** The application's own: a table of users, and a library for JWTs. */
export interface Accounts {
  userOf(name: string, password: string): Promise<User | undefined>;
  sign(user: User): Promise<string>;
  /** Rejects if the token is not valid. */
  verify(token: string): Promise<User>;
}

export async function serveShop(
  options: Pick<ServeOptions, "listen" | "tls">,
  accounts: Accounts,
  handlers: OrdersHandlers<User | undefined>,
): Promise<Server> {
  // #region server
  const auth = createAuthRouter<User | undefined>({
    async login({ name, password }) {
      const user = await accounts.userOf(name, password);
      if (user === undefined) throw new RpcError("unauthenticated", "wrong name or password");
      return { token: await accounts.sign(user) };
    },
  });
  const routers = [auth, createOrdersRouter<User | undefined>(handlers)];
  const server = await serve({
    ...options, // listen: "https://[::]:4433/rpc", and tls
    http: true,
    routers: [...routers, createReflection(routers)],
    authenticate: async ({ credentials }: Peer) => {
      const token = await credentials;
      if (token === undefined) return undefined; // may call what is public, such as login
      return accounts.verify(token).catch(() => {
        throw new RpcError("unauthenticated", "sign in again");
      });
    },
    interceptors: [
      authorize<User | undefined>({
        scopesOf: ({ context }) => {
          const user = context.connection;
          return user && SCOPES[user.role];
        },
      }),
    ],
    advanced: { expiresAt: (user) => user && user.exp * 1000 },
  });
  // #endregion server
  return server;
}

export async function signIn(
  url: string,
  name: string,
  password: string,
  options: ConnectOptions = {},
): Promise<Connection> {
  // #region client
  const visitor = await connect(url, options);
  const { token } = await createAuthClient(visitor).login({ name, password });
  await visitor.close();
  const connection = await connect(url, { ...options, credentials: token });
  // #endregion client
  return connection;
}
