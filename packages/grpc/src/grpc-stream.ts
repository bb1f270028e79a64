import { RpcError } from "@quicrpc/core";
import { atEnd, type PendingCall, requirePositions, sendItems, type UnsharedBytes } from "@quicrpc/core/internal";
import { FROM_HEADER, type HttpClientCall, oneEnvelope, type UploadedItems, writeCursor } from "@quicrpc/http/internal";
import type { GrpcResponse } from "./grpc-response.js";

/** A call whose request was sent. `upload` sends the items of its caller. */
export interface SentCall {
  readonly response: GrpcResponse;
  readonly upload: UploadedItems | undefined;
}

/** Makes a call that streams in either direction. Rejects if the call cannot start. */
export async function callStream(
  call: HttpClientCall,
  input: unknown,
  pending: PendingCall,
  send: (body: UnsharedBytes | undefined) => Promise<SentCall>,
): Promise<void> {
  atEnd(pending, () => call.fail(new RpcError("cancelled", "the caller wants no answer")));
  const { method, options } = call;
  if (options?.from !== undefined) {
    requirePositions(method, options.from);
    call.headers.set(FROM_HEADER, writeCursor(options.from));
  }
  const body = method.kind === "server_stream" ? await oneEnvelope(call, input) : undefined;
  const { response, upload } = await send(body);
  pending.items = upload;
  if (method.kind === "client_stream") {
    pending.source = undefined;
    if (upload !== undefined) void sendItems(upload, input);
    const answer = await response.only();
    call.settle();
    pending.end(undefined, answer);
    return;
  }
  pending.onStarted?.();
  pending.follow?.(response);
}
