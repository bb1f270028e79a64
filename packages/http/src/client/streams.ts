import { RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  atEnd,
  fullName,
  type PendingCall,
  requirePositions,
  sendItems,
  type UnsharedBytes,
} from "@quicrpc/core/internal";
import { contentType } from "../protocol/content-type.js";
import { FROM_HEADER, writeCursor } from "../protocol/cursor.js";
import { type HttpClientCall, requireAnswer } from "./http-call.js";
import { ReceivedItems } from "./received-items.js";
import { oneEnvelope } from "./one-envelope.js";
import { UploadedItems } from "./upload.js";
import type { Uploads } from "./options.js";

/** Number of bytes waiting to be sent above which the sender of items is paused. */
const MAX_WAITING = 65_536;

/**
 * Makes a call that streams in either direction, or that continues an earlier stream. Rejects if the call cannot start.
 */
export async function callStream(call: HttpClientCall, input: unknown, pending: PendingCall): Promise<void> {
  const { method, options } = call;
  atEnd(pending, () => {
    if (!call.over) call.fail(new RpcError("cancelled", "the caller wants no answer"));
  });
  if (call.over) return;
  if (options?.from !== undefined) requirePositions(method, options.from);
  if (method.kind === "server_stream") {
    const body = await oneEnvelope(call, input);
    pending.follow?.(new ReceivedItems(call, send(call, body)));
    return;
  }
  const { upload, body } = uploadStream(call);
  const items = new ReceivedItems(call, send(call, body));
  pending.items = upload;
  if (method.kind === "duplex") {
    pending.onStarted?.();
    pending.follow?.(items);
    return;
  }
  pending.source = undefined;
  void sendItems(upload, input);
  pending.end(undefined, await onlyItem(call, items));
}

/** Returns the only item of a response, and ends the call. Throws if there are no items or more than one. */
async function onlyItem(call: HttpClientCall, items: ReceivedItems): Promise<unknown> {
  const first = await items.next();
  const second = first.done === true ? first : await items.next();
  if (first.done !== true && second.done === true) {
    call.settle();
    return first.value;
  }
  const many = first.done === true ? "no message" : "more than one message";
  throw new RpcError("unimplemented", `the answer of ${fullName(call.method)} has ${many}, instead of one`);
}

async function send(call: HttpClientCall, body: UnsharedBytes | ReadableStream<Uint8Array>): Promise<Response> {
  const { codec, codings } = call.client;
  const from = call.options?.from;
  const names = codings.map(({ name }) => name);
  const isStream = body instanceof ReadableStream;
  const response = await call.send(
    // Node's `fetch` keeps a sent body in order to send it again, unless both redirects and authentication are
    // disabled.
    isStream ? { method: "POST", body, duplex: "half", redirect: "error", window: null } : { method: "POST", body },
    {
      "content-type": contentType({ codec: codec.name, stream: true }),
      "connect-content-encoding": names[0],
      "connect-accept-encoding": names.length === 0 ? undefined : names.join(", "),
      [FROM_HEADER]: from === undefined ? undefined : writeCursor(from),
    },
  );
  await requireAnswer(call, response, true);
  return response;
}

/**
 * Returns the body of a request that streams items, and its sender. Throws `RpcError` if `fetch` does not support such
 * requests.
 */
export function uploadStream(call: HttpClientCall): {
  readonly upload: UploadedItems;
  readonly body: ReadableStream<Uint8Array>;
} {
  requireUploads(call);
  let upload!: UploadedItems;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void (upload = new UploadedItems(call, controller)),
      pull: () => upload.resume(),
      // The server has stopped reading or the request has failed. The response shows which.
      cancel: () => upload.stop(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING }),
  );
  return { upload, body };
}

/** Throws if the call streams its request and `fetch` does not support that. */
function requireUploads({ client, method }: HttpClientCall): void {
  const uploads = client.options.uploads ?? platformUploads();
  if (uploads === "full" || (uploads === "half" && method.kind === "client_stream")) return;
  throw cannotStream(
    method,
    uploads === "none" ? "sends no request as a stream" : "reads no answer before the request has ended",
  );
}

function cannotStream(method: AnyMethod, lack: string): RpcError {
  const what = method.kind === "duplex" ? "a duplex call" : "a stream of its caller's";
  const hint =
    "call it by WebTransport or WebSocket (connect of @quicrpc/browser or @quicrpc/node); or say what the option `fetch` can by `uploads`";
  return new RpcError("unimplemented", `${fullName(method)} is ${what}, and fetch ${lack} here`, {
    hint,
    refused: true,
  });
}

/** Global variables that identify a JavaScript runtime. */
interface Runtimes {
  readonly process?: { readonly versions?: Readonly<Record<string, string | undefined>> };
  readonly Deno?: unknown;
}

function platformUploads(): Uploads {
  const { process, Deno } = globalThis as Runtimes;
  if (process?.versions?.["bun"] !== undefined) return "half";
  if (process?.versions?.["node"] !== undefined || Deno !== undefined) return "full";
  return streamsRequests() ? "half" : "none";
}

/**
 * Returns true if the browser streams request bodies. Other browsers convert a stream to text and set a content type.
 */
function streamsRequests(): boolean {
  let asked = false;
  const init = {
    method: "POST",
    body: new ReadableStream(),
    get duplex() {
      asked = true;
      return "half";
    },
  };
  try {
    return !new Request("https://localhost", init).headers.has("content-type") && asked;
  } catch {
    return false;
  }
}
