import { RpcError } from "@quicrpc/core";
import { contentType } from "../protocol/content-type.js";
import { readHeaders, TRAILER_PREFIX } from "../protocol/headers.js";
import type { HttpClientCall } from "./http-call.js";

/**
 * Checks the head of a response, and gives the call its metadata. Throws the error that the response contains, or an
 * error that describes the response if it is not of this protocol.
 */
export async function requireAnswer(call: HttpClientCall, response: Response, stream: boolean): Promise<void> {
  const { status, headers } = response;
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(";");
  if (status !== 200 || type.trim() !== contentType({ codec: call.client.codec.name, stream })) {
    throw await failureLater(call, response, stream);
  }
  const metadata = call.read(() => readHeaders(headers));
  call.heard(metadata, stream ? undefined : call.read(() => readHeaders(headers, TRAILER_PREFIX)));
}

/**
 * Returns the error of an unsuccessful response. The code for it is loaded with the first such response; if it cannot
 * be loaded, the call fails too.
 */
export async function failureLater(call: HttpClientCall, response: Response, stream: boolean): Promise<RpcError> {
  try {
    const { failureOf } = await call.client.later();
    return await failureOf(call, response, stream);
  } catch (error) {
    if (error instanceof RpcError) return error;
    const text = `${call.client.peer} answered with HTTP status ${response.status}, and what it says could not be read`;
    return new RpcError("unknown", text, { cause: error });
  }
}
