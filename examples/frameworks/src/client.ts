// The client, in a page, on a server or in an application with React Native: https there, and the rest is the same.
import { httpTransport } from "@quicrpc/http";
import { createGreeterClient, type GreeterClient } from "./generated/greeter.js";

export function connectTo(origin: string, fetch?: typeof globalThis.fetch): GreeterClient {
  return createGreeterClient(httpTransport({ ...(fetch !== undefined && { fetch }) }).caller(`${origin}/rpc`));
}
