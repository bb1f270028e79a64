// Calls that take effect once: see docs/once.md.
import { retry, type Router } from "@quicrpc/core";
import { createOnceKey } from "@quicrpc/durable";
import { connect, type Peer, serve, type ServeOptions, type Server } from "@quicrpc/node";
import type { z } from "zod";
import type { Transfer } from "./bank.service.js";
import { type BankClient, createBankClient } from "./generated/bank.js";

export async function transferOnce(url: string): Promise<{ id: string }> {
  // #region call
  const connection = await connect(url, { interceptors: [retry()] }); // such as quic://bank.example:4433
  const receipt = await createBankClient(connection).transfer({ from: "ann", to: "bob", cents: 500 });
  // #endregion call
  await connection.close();
  return receipt;
}

/** Keeps what is to be done, past a restart of the program. */
export interface Outbox {
  save(entry: { readonly onceKey: string; readonly transfer: z.infer<typeof Transfer> }): Promise<void>;
}

export async function transferByOutbox(
  bank: BankClient,
  outbox: Outbox,
  transfer: z.infer<typeof Transfer>,
): Promise<void> {
  // #region outbox
  const onceKey = createOnceKey();
  await outbox.save({ onceKey, transfer }); // and after a restart, again:
  await bank.transfer(transfer, { onceKey });
  // #endregion outbox
}

export async function serveOnce(
  { listen }: Required<Pick<ServeOptions<{ userId: string }>, "listen">>,
  routers: readonly Router[],
  authenticate: (peer: Peer) => { userId: string },
): Promise<Server> {
  // #region serve
  const server = await serve({
    listen,
    routers,
    authenticate,
    advanced: { once: { principal: ({ connection }) => connection.userId, recordForMs: 86_400_000, leaseMs: 10_000 } },
  });
  // #endregion serve
  return server;
}
