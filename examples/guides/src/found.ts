// Servers that are found by NATS: see docs/scaling.md.
import { connect } from "@nats-io/transport-node";
import type { Pool } from "@quicrpc/pool";
import { announceTargets, natsTargets } from "@quicrpc/nats";
import { connectPool } from "@quicrpc/node";

/** @param url URL of this server, such as `quic://10.0.3.7:4433` */
export async function announceOrders(url: string): Promise<() => void> {
  // #region announce
  const nats = await connect({ servers: "nats:4222" });
  const leave = announceTargets(nats, "shop.orders", [url]);
  // #endregion announce
  return leave;
}

export async function findOrders(): Promise<Pool> {
  // #region find
  const nats = await connect({ servers: "nats:4222" });
  const pool = await connectPool(natsTargets(nats, "shop.orders"), { advanced: { serverName: "orders.example" } });
  // #endregion find
  return pool;
}
