// A server that calls its clients: see docs/serving.md.
import { type Connection, type Router, RpcError, type Session } from "@quicrpc/core";
import { connect, type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { createScreenClient, createScreenRouter } from "./generated/screen.js";

/** Users that are online, and their sessions. */
export interface Online {
  readonly server: Server;
  /** Shows a text to a user on all of their devices. */
  tell(user: string, text: string): Promise<void>;
  /** Ends the sessions of a user. */
  remove(user: string): Promise<void>;
}

export async function serveOnline(
  { listen }: Required<Pick<ServeOptions, "listen">>,
  routers: readonly Router<string>[],
  userOf: (token: string | undefined) => string | undefined,
): Promise<Online> {
  // #region server
  const online = new Map<Session, string>();
  const names = new WeakMap<Peer, string>();
  const server = await serve({
    listen,
    routers,
    authenticate: async (peer) => {
      const user = userOf(await peer.credentials);
      if (user === undefined) throw new RpcError("unauthenticated", "sign in first");
      names.set(peer, user);
      return user;
    },
    advanced: {
      onSession: (session, peer) => {
        online.set(session, names.get(peer) ?? "");
        void session.closed.then(() => online.delete(session));
      },
    },
  });
  // #endregion server
  return {
    server,
    async tell(user, text) {
      // #region tell
      for (const [session, name] of online) {
        if (name === user) await createScreenClient(session).show({ text });
      }
      // #endregion tell
    },
    async remove(user) {
      // #region remove
      for (const [session, name] of online) {
        if (name === user) await session.close({ reason: "signed out" });
      }
      // #endregion remove
    },
  };
}

export async function connectOnline(
  url: string,
  token: () => string,
  show: (text: string) => void,
): Promise<Connection> {
  // #region client
  const screen = createScreenRouter({ show: ({ text }) => show(text) });
  const connection = await connect(url, { credentials: token, routers: [screen] });
  // #endregion client
  return connection;
}
