import { grpcWebTransport } from "@quicrpc/grpc";
import { createGreeterClient } from "./generated/http/greeter.js";

async function main(): Promise<void> {
  const greeter = createGreeterClient(grpcWebTransport({ services: [] }).caller("https://example.org"));
  console.log(await greeter.greet({ name: "Ada" }));
}

export const done: Promise<void> = main();
