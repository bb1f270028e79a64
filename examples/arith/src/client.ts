import { RpcError } from "@quicrpc/core";
import { connect, devCertificate } from "@quicrpc/node";
import { createArithClient } from "./generated/arith.js";

const url = process.argv[2] ?? "quic://localhost:4433";
const { hash } = await devCertificate();

const connecting = performance.now();
const session = await connect(url, { serverCertificateHashes: [hash] });
report("connect", url.startsWith("quic:") ? `${url}, QUIC with TLS 1.3` : url, connecting);

const arith = createArithClient(session);

for (const [a, b] of [
  [9, 2],
  [6, 7],
  [12, 12],
] as const) {
  const started = performance.now();
  const { pro } = await arith.multiply({ a, b }, { timeoutMs: 1000 });
  report("unary", `multiply ${a} x ${b} = ${pro}`, started);
}

const dividing = performance.now();
try {
  await arith.divide({ a: 9, b: 0 });
} catch (error) {
  if (!(error instanceof RpcError)) throw error;
  report("error", `divide 9 / 0: ${error.code}, "${error.message}"`, dividing);
}

await arith.log({ line: "hello from another process" });

let since = performance.now();
for await (const { i } of arith.ticks({ n: 3, everyMs: 50 })) {
  report("stream", `tick ${i}`, since);
  since = performance.now();
}

await session.close();

function report(kind: string, what: string, started: number): void {
  const ms = (performance.now() - started).toFixed(2).padStart(8);
  console.log(`${kind.padEnd(8)} ${what.padEnd(56)} ${ms} ms`);
}
