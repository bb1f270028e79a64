import { type Router, RpcError } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function throwing(error: Error, field: string): Error {
  return Object.defineProperty(error, field, {
    get() {
      throw new Error(`${field} cannot be read`);
    },
  });
}

const upstream = (): RpcError => new RpcError("unavailable", "upstream");

class Renamed extends RpcError {
  override message = 5 as unknown as string;
}

/** Values that code may throw by mistake: reading them throws, or their fields have the wrong types. */
export const unreadable: Readonly<Record<string, () => unknown>> = {
  "a revoked proxy": () => revoked({}),
  "a revoked proxy of a function": () => revoked(() => {}),
  "a revoked proxy of an error": () => revoked(upstream()),
  "an error whose message cannot be read": () => throwing(new Error(), "message"),
  "an error whose stack cannot be read": () => throwing(new Error("text"), "stack"),
  "an error whose name cannot be read": () => throwing(new Error("text"), "name"),
  "an error whose code cannot be read": () => throwing(new Error("text"), "code"),
  "an error whose cause cannot be read": () => throwing(new Error("text"), "cause"),
  "an error whose cause is a revoked proxy": () => new Error("text", { cause: revoked({}) }),
  "an RpcError whose code cannot be read": () => throwing(upstream(), "code"),
  "an RpcError whose message cannot be read": () => throwing(upstream(), "message"),
  "an RpcError whose metadata cannot be read": () => throwing(upstream(), "metadata"),
  "an RpcError whose details cannot be read": () => throwing(upstream(), "details"),
  "an RpcError whose reason cannot be read": () => throwing(upstream(), "reason"),
  "an RpcError without a message": () => Object.assign(upstream(), { message: undefined }),
  "an RpcError whose message is a number": () => Object.assign(upstream(), { message: 5 }),
  "an RpcError whose message is an object": () => Object.assign(upstream(), { message: { text: "upstream" } }),
  "a subclass of RpcError whose message is a number": () => new Renamed("unavailable", "upstream"),
  "an RpcError without metadata": () => Object.assign(upstream(), { metadata: undefined }),
  "an RpcError whose metadata is an array": () => Object.assign(upstream(), { metadata: ["a"] }),
  "an object that cannot be made a string": () => ({
    toString() {
      throw new Error("no string");
    },
  }),
  "an object without a prototype": () => Object.create(null) as unknown,
  "a symbol": () => Symbol("thrown"),
  undefined: () => undefined,
  "an error with a long message": () => new Error("m".repeat(1_000_000)),
};

/** RpcErrors that reach the caller, and the fields that it then sees. */
export const tellable: Readonly<Record<string, readonly [make: () => unknown, seen: object]>> = {
  "a code that does not exist": [
    () => new RpcError("not-found" as "not_found", "nothing"),
    { code: "unknown", message: "nothing" },
  ],
  "a code that every object has a field for": [
    () => new RpcError("toString" as "not_found", "nothing"),
    { code: "unknown", message: "nothing" },
  ],
  "the code of success": [() => new RpcError("ok" as "aborted", "nothing"), { code: "unknown", message: "nothing" }],
  "a code that is a number": [
    () => new RpcError(5 as unknown as "aborted", "nothing"),
    { code: "unknown", message: "nothing" },
  ],
  "no code": [() => Object.assign(upstream(), { code: undefined }), { code: "unknown", message: "upstream" }],
  "a reason that is a symbol": [
    () => Object.assign(upstream(), { reason: Symbol("reason") }),
    { code: "unavailable", message: "upstream" },
  ],
  "details that cannot be read": [
    () => new RpcError("aborted", "with details", { details: revoked({}) }),
    { code: "aborted", message: "with details" },
  ],
  "details that cannot be encoded": [
    () => new RpcError("aborted", "with details", { details: { at: () => {} } }),
    { code: "aborted", message: "with details" },
  ],
};

const service = { name: "test.v1.Thrown", id: 4665 };
const text = uncheckedCodec<string>();

/** Methods of each kind that throw the value of this name. */
export const thrown = {
  unary: defineMethod(service, "unary", "unary", { id: 1, input: text, output: text }),
  later: defineMethod(service, "unary", "later", { id: 2, input: text, output: text }),
  serverStream: defineMethod(service, "server_stream", "serverStream", { id: 3, input: text, output: text }),
  clientStream: defineMethod(service, "client_stream", "clientStream", { id: 4, input: text, output: text }),
  duplex: defineMethod(service, "duplex", "duplex", { id: 5, input: text, output: text }),
  note: defineMethod(service, "notify", "note", { id: 6, input: text }),
};

function fail(name: string): never {
  throw (unreadable[name] ?? tellable[name]?.[0])?.();
}

async function* failing(name: string): AsyncIterable<string> {
  yield "first";
  fail(name);
}

export function thrownRouter(): Router {
  return createRouter(thrown, {
    unary: (name) => fail(name),
    later: async (name) => fail(name),
    serverStream: (name) => failing(name),
    clientStream: async (names) => {
      for await (const name of names) fail(name);
      return "";
    },
    async *duplex(names) {
      for await (const name of names) yield* failing(name);
    },
    note: (name) => fail(name),
  });
}
