import { type BrowserConnection, connect, type FallbackOptions } from "@quicrpc/browser";
import { methods } from "../../behaviour/service.js";

/** Leaves functions for a test that opened the page; `connection` and `methods` are there after the first attempt. */

let connection: BrowserConnection;

/** Loads what calls over HTTP, as a page does that has it in a file of its own. */
const http: NonNullable<FallbackOptions["http"]> = async () => (await import("@quicrpc/http")).httpTransport();

/** Connects, and makes one call. Where a URL is given for HTTP, it is the last resort. */
async function attempt(url: string, hash: readonly number[], fallback: FallbackOptions = {}): Promise<object> {
  const serverCertificateHashes = [{ algorithm: "sha-256", value: new Uint8Array(hash) }];
  const since = performance.now();
  const last = fallback.httpUrl === undefined ? {} : { http };
  connection = await connect(url, { serverCertificateHashes, fallback: { ...fallback, ...last } });
  const ms = performance.now() - since;
  Object.assign(globalThis, { connection, methods });
  return { ms, ...connection.transport, ...(await connection.unary(methods.echo, { text: "through" })) };
}

/** Waits for this many consecutive failures. */
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
