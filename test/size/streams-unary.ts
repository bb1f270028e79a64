import { createStreamSession } from "@quicrpc/core";
import { createGreeterClient } from "./generated/unary/greeter.js";

async function main(): Promise<void> {
  const greeter = createGreeterClient(createStreamSession(new WebTransport("https://example.org:4433/rpc")));
  console.log(await greeter.greet({ name: "Ada" }));
}

export const done: Promise<void> = main();
