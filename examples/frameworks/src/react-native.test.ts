// The client of ../expo, bundled, with the globals of React Native 0.86 and Expo 57 and no others.
import type { BrowserConnection } from "@quicrpc/browser";
import { serve, type Server } from "@quicrpc/node";
import { build, type Plugin } from "esbuild";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { afterEach, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { GreeterClient } from "./generated/greeter.js";
import { router } from "./greeter.js";

type ConnectTo = (url: string) => Promise<{ readonly connection: BrowserConnection; readonly greeter: GreeterClient }>;

/** Globals beside the language's own: React Native's, and those that Expo adds. */
const PROVIDED =
  "Blob DOMException FormData Headers ReadableStream Request Response TextDecoder TextEncoder " +
  "TransformStream URL URLSearchParams WritableStream atob btoa clearInterval clearTimeout console performance queueMicrotask " +
  "setImmediate setInterval setTimeout structuredClone";
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Expo's project generates beside its schema; the generated code of the same schema is here. */
const generatedHere: Plugin = {
  name: "generated-here",
  setup(build) {
    build.onResolve({ filter: /^\.\/generated\/greeter\.ts$/ }, () => ({ path: here("generated/greeter.ts") }));
  },
};

/** React Native's: without `bufferedAmount`, and its methods are those of the standard. Without TLS here. */
class PhoneSocket {
  private readonly socket: WebSocket;

  constructor(url: string | URL, protocols: string[]) {
    this.socket = new WebSocket(String(url).replace("wss:", "ws:"), protocols);
  }

  set binaryType(type: "arraybuffer") {
    this.socket.binaryType = type;
  }

  get readyState(): number {
    return this.socket.readyState;
  }

  addEventListener(type: "message", listener: () => void): void {
    this.socket.addEventListener(type, listener);
  }

  send(data: Uint8Array): void {
    this.socket.send(data);
  }

  close(code?: number, reason?: string): void {
    this.socket.close(code, reason);
  }
}

/** As React Native's before 0.88: without reasons, `throwIfAborted`, `any` and `timeout`. */
class PhoneSignal extends EventTarget {
  aborted = false;
}

class PhoneController {
  readonly signal: PhoneSignal = new PhoneSignal();

  abort(): void {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.dispatchEvent(new Event("abort"));
  }
}

/** Without TLS here. */
function phoneFetch(url: string | URL, { signal, ...init }: RequestInit = {}): Promise<Response> {
  const controller = new AbortController();
  signal?.addEventListener("abort", () => controller.abort());
  return fetch(String(url).replace("https:", "http:"), { ...init, signal: controller.signal });
}

let bundle = "";
let server: Server;

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [here("../expo/client.ts")],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "client",
    conditions: ["react-native"],
    plugins: [generatedHere],
    logLevel: "error",
  });
  bundle = outputFiles[0]?.text as string;
});
afterEach(() => server.close());

/** The bundle's function, in a scope in which every other global of Node is undefined. */
function load(sockets: object): ConnectTo {
  const language = runInNewContext("Object.getOwnPropertyNames(globalThis)") as string[];
  const own = { AbortController: PhoneController, AbortSignal: PhoneSignal, fetch: phoneFetch };
  const given: Record<string, unknown> = { ...sockets, ...own, navigator: { product: "ReactNative" } };
  for (const name of PROVIDED.split(" ")) given[name] = (globalThis as Record<string, unknown>)[name];
  for (const name of ["globalThis", "window", "self", "global"]) given[name] = given;
  const hidden = [...Object.getOwnPropertyNames(globalThis), "require", "process", "Buffer"];
  const names = [...new Set([...Object.keys(given), ...hidden.filter((name) => !language.includes(name))])];
  // oxlint-disable-next-line typescript/no-implied-eval -- the bundle is to see no global but those that are given
  const run = new Function(...names, `${bundle}\nreturn client.connectTo;`) as (...values: unknown[]) => ConnectTo;
  return run(...names.map((name) => given[name]));
}

test.each([
  ["a WebSocket", { WebSocket: PhoneSocket }, "websocket"],
  ["HTTP, where no WebSocket opens", {}, "http"],
])("the client calls over %s", async (_name, sockets, kind) => {
  server = await serve({ listen: "ws://127.0.0.1:0/rpc", routers: [router], http: { prefix: "/rpc" } });
  const { connection, greeter } = await load(sockets)((server.urls[0] as string).replace("ws:", "https:"));
  expect(connection.transport?.kind).toBe(kind);
  expect(await greeter.greet({ name: "Ada" })).toEqual({ text: "Hello, Ada!" });
  const counted: number[] = [];
  for await (const n of greeter.count({ from: 3 })) counted.push(n);
  expect(counted).toEqual([3, 2, 1]);
  await expect(greeter.greet({ name: "owl" })).rejects.toMatchObject({
    reason: "ASLEEP",
    details: { until: new Date(0) },
  });
  await connection.close();
});
