import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { codecIn, encodePayload } from "../call/messages/payload.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { directDatagrams } from "../transport/web-datagrams.js";
import { DatagramKind, FLAG_HEAD } from "../wire/frame.js";
import { writeHead } from "../wire/head.js";
import { FrameWriter } from "../wire/writer.js";
import type { CallingHost } from "./calling.js";
import { requestHead } from "./call.js";
import * as FrameType from "../wire/frame-type.js";

/**
 * Sends a notification as a datagram (prefix | kind (varint) | one notify frame). If none can carry it, returns false,
 * or throws `RpcError` if the caller allows no other way.
 */
export function notifyByDatagram(
  host: CallingHost,
  method: AnyMethod,
  input: unknown,
  options: CallOptions | undefined,
): boolean {
  const problem = send(host, method, input, options);
  if (problem !== undefined && options?.fallback === "none") throw problem;
  return problem === undefined;
}

function send(
  host: CallingHost,
  method: AnyMethod,
  input: unknown,
  options: CallOptions | undefined,
): RpcError | undefined {
  const datagrams = directDatagrams(host.datagramsForCalls());
  const name = fullName(method);
  if (datagrams === undefined) {
    return new RpcError("unimplemented", `${name} is sent as a datagram, and this session has none`);
  }
  // A separate writer: the encoder runs user code, which may send notifications too.
  const out = new FrameWriter(256);
  out.bytes(host.settings.prefix);
  out.varint(DatagramKind.Notify);
  writeNotification(out, host, method, input, options);
  const { maxSize } = datagrams;
  if (out.position > maxSize) {
    const text = `${name} makes a datagram of ${out.position} bytes, and this session carries ${maxSize}`;
    return new RpcError("resource_exhausted", text);
  }
  // A datagram that is dropped at once counts as lost.
  datagrams.send(out.written());
  return undefined;
}

function writeNotification(
  out: FrameWriter,
  { limits, settings }: CallingHost,
  method: AnyMethod,
  input: unknown,
  options: CallOptions = {},
): void {
  timeoutOf(options, limits);
  throwIfAborted(options);
  const { format } = settings;
  const given = requestHead(undefined, options, limits);
  const head = format === undefined ? given : { ...given, codec: format.name };
  try {
    out.frame(head === undefined ? FrameType.Notify : FrameType.Notify | FLAG_HEAD, 0, (_, mark) => {
      out.methodId(method.service.id, method.id);
      if (head !== undefined) writeHead(out, head);
      encodePayload(codecIn(format, method.input), input, { out, compression: undefined }, mark, limits.maxFrameBytes);
    });
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}
