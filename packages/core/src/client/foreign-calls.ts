import { leave } from "../call/items/item-source.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Calling, CallingHost } from "./calling.js";
import { type LateCall, promiseLater } from "./late-call.js";
import { duplexLater, itemsLater } from "./late-items.js";

// Call kinds for clients that are generated for a `ForeignClient` only, such as `httpTransport`. That client makes the
// calls, so the code for sessions stays out of the bundle. Separate objects, not a function: a bundle contains only
// those it uses.

export const foreignUnaryCalls: Calling<"unary"> = {
  kind: "unary",
  start: (host, method) => promiseLater(refused(host, method)),
  startLate: (call) => promiseLater(call),
};

export const foreignNotifyCalls: Calling<"notify"> = {
  kind: "notify",
  start: (host, method) => promiseLater(refused(host, method)),
  startLate: (call) => promiseLater(call),
};

export const foreignServerStreamCalls: Calling<"server_stream"> = {
  kind: "server_stream",
  start: (host, method) => itemsLater(refused(host, method)),
  startLate: (call) => itemsLater(call),
};

export const foreignClientStreamCalls: Calling<"client_stream"> = {
  kind: "client_stream",
  start: (host, method, source) => promiseLater(refused(host, method), () => leave(source)),
  startLate: (call, source) => promiseLater(call, () => leave(source)),
};

export const foreignDuplexCalls: Calling<"duplex"> = {
  kind: "duplex",
  start: (host, method) => duplexLater(refused(host, method)),
  startLate: (call) => duplexLater(call),
};

/** Fails a call on a session, which this code cannot make. */
function refused({ peer }: CallingHost, method: AnyMethod): LateCall {
  return {
    method,
    peer,
    queue(outcome) {
      const hint = "generate it with quicrpc gen --target client";
      outcome.fail(new RpcError("unimplemented", "this client was generated for HTTP alone", { hint, refused: true }));
      return () => {};
    },
  };
}
