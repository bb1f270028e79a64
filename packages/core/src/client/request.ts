import type { Carrier } from "../call/carrier.js";
import type { CallOptions } from "../call/options.js";
import { codecIn, encodePayload } from "../call/messages/payload.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import { Metadata } from "../metadata.js";
import { requireCursor } from "../contract/cursor.js";
import { FLAG_HEAD } from "../wire/frame.js";
import { type HeadFields, writeHead } from "../wire/head.js";
import { encodeMetadata } from "../wire/metadata.js";
import type { CallingHost } from "./calling.js";
import * as FrameType from "../wire/frame-type.js";

/** Returns the head of a request with the caller's options; undefined if it is empty. */
export function requestHead(
  timeoutMs: number | undefined,
  { metadata: given, from, resume }: CallOptions,
  limits: ClientLimits,
): HeadFields | undefined {
  if (from !== undefined) requireCursor(from);
  const isPlain = timeoutMs === undefined && from === undefined && resume === undefined;
  if (given === undefined) return isPlain ? undefined : { timeoutMs, from, resume };
  try {
    const metadata = encodeMetadata(Metadata.from(given), limits.maxMetadataBytes);
    return isPlain && metadata === undefined ? undefined : { timeoutMs, metadata, from, resume };
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}

/**
 * Sends a request or notification, and returns the bytes of its frame. If it throws, nothing was sent, and its carrier
 * has removed the call.
 *
 * @param given the head that the caller wants
 * @param itemsFollow true if the caller streams its input: the request then has no payload, and is not the last frame
 */
export function sendRequest(
  { limits, schemas }: CallingHost,
  carrier: Carrier,
  type: typeof FrameType.Request | typeof FrameType.Notify,
  id: number,
  method: AnyMethod,
  options: CallOptions | undefined,
  given: HeadFields | undefined,
  input: unknown,
  itemsFollow: boolean = false,
): number {
  const { channel, format } = carrier;
  const codec = carrier.single ? format?.name : undefined;
  const fingerprint = schemas.greet(method);
  const head = codec === undefined && fingerprint === undefined ? given : { ...given, codec, fingerprint };
  const { out } = channel;
  let start: number | undefined;
  let bytes: number;
  try {
    channel.requireRoom();
    const before = channel.begin();
    const mark = out.begin(head === undefined ? type : type | FLAG_HEAD, id);
    start = before;
    out.methodId(method.service.id, method.id);
    if (head !== undefined) writeHead(out, head);
    if (!itemsFollow) {
      encodePayload(codecIn(format, method.input), input, channel, mark, limits.maxFrameBytes, options?.compress);
    }
    bytes = out.commit(mark);
  } catch (error) {
    if (start !== undefined) out.abandon(start);
    if (type === FrameType.Request || carrier.single) carrier.withdraw(id);
    throw RpcError.from(error, "invalid_argument");
  }
  channel.committed(carrier.single && !itemsFollow);
  return bytes;
}
