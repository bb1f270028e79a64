import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";

const service = { name: "test.v1.Chaos", id: 4701 };
const number = uncheckedCodec<number>();
const bytes = uncheckedCodec<Uint8Array>();

/** Each call has a number of its own as its (first) input, unless it says otherwise. */
export const methods = {
  /** Returns the number. */
  echo: defineMethod(service, "unary", "echo", { id: 1, input: number, output: number }),
  /** Yields 1 to 20. */
  items: defineMethod(service, "server_stream", "items", { id: 2, input: number, output: number }),
  /** Counts what follows the number. */
  count: defineMethod(service, "client_stream", "count", { id: 3, input: number, output: number }),
  /** Repeats what follows the number. */
  chat: defineMethod(service, "duplex", "chat", { id: 4, input: number, output: number }),
  /** Runs until the call is cancelled. */
  hold: defineMethod(service, "unary", "hold", { id: 5, input: number, output: number }),
  /** Returns the bytes, and writes nothing down: it has no number. */
  mirror: defineMethod(service, "unary", "mirror", { id: 6, input: bytes, output: bytes }),
};

/** How the server is started. */
export interface ServerSettings {
  readonly listen: string;
  /** File in which each handler writes a line when it begins and when it ends: `+ 7` and `- 7`. */
  readonly journal: string;
}

/** Resources that the server holds: bytes alive after a collection, and handlers that run. */
export interface Held {
  readonly live: number;
  readonly running: number;
}
