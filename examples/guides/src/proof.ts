// Clients prove that they have a key: see docs/authentication.md.
import { type Connection, RpcError } from "@quicrpc/core";
import { createProofKeys, keyThumbprint, prover } from "@quicrpc/core/proof";
import { connect, type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";

/** Issues tokens, each for one key. */
export interface KeySignIn {
  tokenFor(keyName: string): Promise<string>;
}

/** Reads tokens. */
export interface KeyTokens {
  /** Rejects with `unauthenticated` if the text is not a valid token. */
  verify(token: string | undefined): Promise<{ readonly user: string; readonly keyName: string }>;
}

export async function connectWithKey(url: string, signIn: KeySignIn): Promise<Connection> {
  // #region client
  const keys = await createProofKeys(); // keep them in IndexedDB: they are stored, and never shown
  const token = await signIn.tokenFor(await keyThumbprint(keys)); // whoever issues it puts the name of the key into it: cnf.jkt
  const connection = await connect(url, { credentials: token, advanced: { proof: prover(keys) } });
  // #endregion client
  return connection;
}

export async function serveKeys(
  { listen, tls, routers }: Required<Pick<ServeOptions<string>, "listen" | "routers" | "tls">>,
  tokens: KeyTokens,
): Promise<Server> {
  // #region server
  const server = await serve({
    listen,
    tls,
    routers,
    authenticate: async (peer: Peer) => {
      const { user, keyName } = await tokens.verify(await peer.credentials); // keyName: cnf.jkt
      const proof = await peer.proof; // asks the client; rejects where its proof does not hold
      if (proof?.thumbprint !== keyName) throw new RpcError("unauthenticated", "this token is of another key");
      return user;
    },
  });
  // #endregion server
  return server;
}
