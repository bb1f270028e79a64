import type { CarrierSettings } from "../call/carrier.js";
import { type NotificationCall, writeNotification } from "./invoke.js";
import { fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Datagrams, WebTransportDatagrams } from "../transport/session.js";
import { directDatagrams } from "../transport/web-datagrams.js";
import { DatagramKind } from "../wire/frame.js";
import { FrameWriter } from "../wire/writer.js";

/**
 * Sends a notification as a datagram (prefix | kind (varint) | one notify frame), unless none can carry it: then it returns
 * false, or throws `RpcError` where the caller wants no other way.
 */
export function notifyByDatagram(
  datagrams: Datagrams | WebTransportDatagrams | undefined,
  settings: Pick<CarrierSettings, "prefix" | "format">,
  invocation: NotificationCall,
  input: unknown,
): boolean {
  const problem = send(directDatagrams(datagrams), settings, invocation, input);
  if (problem === undefined) return true;
  if (invocation.options?.fallback === "none") throw problem;
  return false;
}

function send(
  datagrams: Datagrams | undefined,
  { prefix, format }: Pick<CarrierSettings, "prefix" | "format">,
  invocation: NotificationCall,
  input: unknown,
): RpcError | undefined {
  const name = fullName(invocation.method);
  if (datagrams === undefined) {
    return new RpcError("unimplemented", `${name} goes by datagram, and this session has none`);
  }
  // A writer of its own: the encoder runs user code, which may notify as well.
  const out = new FrameWriter(256);
  out.bytes(prefix);
  out.varint(DatagramKind.Notify);
  writeNotification(out, invocation, format, input);
  const { maxSize } = datagrams;
  if (out.position > maxSize) {
    const text = `${name} makes a datagram of ${out.position} bytes, and this session carries ${maxSize}`;
    return new RpcError("resource_exhausted", text);
  }
  // Dropped at once is lost as well.
  datagrams.send(out.written());
  return undefined;
}
