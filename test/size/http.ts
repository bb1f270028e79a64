import { httpTransport } from "@quicrpc/http";
import { createGreeterClient } from "./generated/http/greeter.js";

async function main(): Promise<void> {
  const greeter = createGreeterClient(httpTransport().caller("https://example.org/rpc"));
  console.log(await greeter.greet({ name: "Ada" }));
}

export const done: Promise<void> = main();
