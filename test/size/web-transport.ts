import { connectWebTransport } from "@quicrpc/browser";
import { createArithClient } from "./generated/arith.js";

async function main(): Promise<void> {
  const arith = createArithClient(await connectWebTransport("https://example.org:4433/rpc"));
  console.log(await arith.multiply({ a: 6, b: 7 }));
}

export const done: Promise<void> = main();
