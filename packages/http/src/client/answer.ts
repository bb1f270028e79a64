import { RpcError } from "@quicrpc/core";
import { contentType } from "../protocol/content-type.js";
import { readHeaders, TRAILER_PREFIX } from "../protocol/headers.js";
import type { HttpCall } from "./http-call.js";

/**
 * Looks at the head of an answer, and tells the call the answer's metadata. Throws the error that it says, or one that says what it is instead
 * of an answer of this protocol.
 */
export async function requireAnswer(call: HttpCall, response: Response, stream: boolean): Promise<void> {
  const { status, headers } = response;
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  if (status !== 200 || type.trim() !== contentType({ codec: call.client.codec.name, stream })) {
    throw await failureLater(call, response, stream);
  }
  const metadata = call.read(() => readHeaders(headers));
  call.heard(metadata, stream ? undefined : call.read(() => readHeaders(headers, TRAILER_PREFIX)));
}

/** Returns the error of an answer that is no success, by code that a page loads with the first; a call whose code cannot be loaded fails too. */
export async function failureLater(call: HttpCall, response: Response, stream: boolean): Promise<RpcError> {
  try {
    const { failureOf } = await call.client.later();
    return await failureOf(call, response, stream);
  } catch (error) {
    if (error instanceof RpcError) return error;
    const text = `${call.client.peer} answered with HTTP status ${response.status}, and what it says could not be read`;
    return new RpcError("unknown", text, { cause: error });
  }
}
