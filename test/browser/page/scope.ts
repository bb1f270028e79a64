import { connect } from "@quicrpc/browser";
import { methods } from "../../behaviour/service.js";

/** Connects on request by message, in the scope that runs this script: workers of each kind, and a window. */

interface Attempt {
  readonly url: string;
  readonly hash: readonly number[];
  readonly kind: "webtransport" | "websocket";
}

async function attempt({ url, hash, kind }: Attempt): Promise<unknown> {
  if (kind === "websocket") Object.assign(globalThis, { WebTransport: undefined });
  const states: string[] = [];
  const connection = await connect(url, {
    serverCertificateHashes: [{ algorithm: "sha-256", value: new Uint8Array(hash) }],
  });
  const watch = (async () => {
    for await (const { status } of connection.states()) states.push(status);
  })();
  const { text } = await connection.unary(methods.echo, { text: "hello" });
  let items = 0;
  for await (const { i } of connection.serverStream(methods.items, { n: 100 })) items += i;
  await connection.close();
  await watch;
  return { scope: scopeName(), kind: connection.transport?.kind, text, items, states };
}

/** The global's class, such as `SharedWorkerGlobalScope`. */
function scopeName(): string {
  return (globalThis as object).constructor.name;
}

const answer = ({ data, ports: [port] }: MessageEvent<Attempt>): void => {
  attempt(data).then(
    (seen) => port?.postMessage(seen),
    (error: unknown) => port?.postMessage(String(error)),
  );
};
globalThis.addEventListener("message", answer);
// In a shared worker a message comes by the port of its connection.
globalThis.addEventListener("connect", (event) => {
  const [own] = (event as MessageEvent).ports;
  if (own !== undefined) own.onmessage = answer;
});
