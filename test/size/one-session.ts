import { createClientSession } from "@quicrpc/core";
import { createArithClient } from "./generated/arith.js";

async function main(): Promise<void> {
  const arith = createArithClient(createClientSession(new WebTransport("https://example.org:4433/rpc")));
  console.log(await arith.multiply({ a: 6, b: 7 }));
}

export const done: Promise<void> = main();
