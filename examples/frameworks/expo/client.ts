// Calls go over a WebSocket, since React Native has no WebTransport, and by HTTP where none opens.
import "./abort-signal.ts";
import { type BrowserConnection, connect } from "@quicrpc/browser";
import { httpTransport } from "@quicrpc/http";
import { createGreeterClient, type GreeterClient } from "./generated/greeter.ts";

export interface Server {
  readonly connection: BrowserConnection;
  readonly greeter: GreeterClient;
}

/** `url` is the URL of `serve({ webSocket: true, http: { prefix: "/rpc" } })`: "https://rpc.example.org/rpc". */
export async function connectTo(url: string): Promise<Server> {
  const connection = await connect(url, { fallback: { http: httpTransport() } });
  return { connection, greeter: createGreeterClient(connection) };
}
