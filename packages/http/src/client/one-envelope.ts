import type { UnsharedBytes } from "@quicrpc/core/internal";
import { ENVELOPE_COMPRESSED, writeEnvelope } from "../protocol/envelope.js";
import { encodeMessage } from "../protocol/message.js";
import type { HttpClientCall } from "./http-call.js";

/** Returns the body of a request with one message in a stream. */
export async function oneEnvelope({ client, method, options }: HttpClientCall, input: unknown): Promise<UnsharedBytes> {
  const bytes = encodeMessage(client.codec.of(method.input), input, client.limits.maxFrameBytes);
  const coding = client.codingFor(bytes.length, options?.compress);
  if (coding === undefined) return writeEnvelope({ flags: 0, bytes });
  return writeEnvelope({ flags: ENVELOPE_COMPRESSED, bytes: await coding.compress(bytes) });
}
