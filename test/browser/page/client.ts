import { type BrowserConnection, connect, type FallbackOptions } from "@quicrpc/browser";
import { methods } from "../../behaviour/service.js";

/** Leaves functions for a test that opened the page; `connection` and `methods` are there after the first attempt. */

let connection: BrowserConnection;

/** Connects, and makes one call. */
async function attempt(url: string, hash: readonly number[], fallback: FallbackOptions = {}): Promise<object> {
  const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
  const since = performance.now();
  connection = await connect(url, { serverCertificateHashes, fallback });
  const ms = performance.now() - since;
  Object.assign(globalThis, { connection, methods });
  return { ms, ...connection.transport, ...(await connection.unary(methods.echo, { text: "through" })) };
}

/** Waits for so many failures in a row. */
async function failed(times: number): Promise<void> {
  for await (const state of connection.states()) if ("failures" in state && state.failures >= times) return;
}

/** All transports until the wanted one. */
async function until(wanted: string): Promise<object[]> {
  const seen: object[] = [];
  for await (const { status } of connection.states()) {
    if (status !== "ready") continue;
    seen.push({ ...connection.transport });
    if (connection.transport?.kind === wanted) break;
  }
  return seen;
}

Object.assign(globalThis, { attempt, failed, until });
