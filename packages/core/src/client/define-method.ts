import {
  describeMethod,
  type MethodDescriptor,
  type MethodKind,
  type MethodOptions,
  type ServiceIdentity,
} from "../contract/descriptor.js";
import type { MethodErrors, NoErrors } from "../contract/method-errors.js";
import type { Calling } from "./calling.js";
import { clientStreamCalls, duplexCalls } from "./client-stream.js";
import { cursorStreamCalls } from "./cursor-stream.js";
import { datagramCalls, notifyCalls } from "./notify.js";
import { serverStreamCalls } from "./server-stream.js";
import { unaryCalls } from "./unary.js";

const KINDS: { readonly [Kind in MethodKind]: Calling<Kind> } = {
  unary: unaryCalls,
  notify: notifyCalls,
  server_stream: serverStreamCalls,
  client_stream: clientStreamCalls,
  duplex: duplexCalls,
};

/**
 * Creates the descriptor of a method without generated code. Throws `RangeError` if an id does not fit the wire format,
 * and `TypeError` if the extension does not support this kind of method, blobs or cursors.
 */
export function defineMethod<
  Kind extends MethodKind,
  Sent = void,
  Received = Sent,
  Returned = void,
  Result = Returned,
  const Errors extends MethodErrors = NoErrors,
>(
  service: ServiceIdentity,
  kind: Kind,
  name: string,
  options: MethodOptions<Sent, Received, Returned, Result, Errors>,
): MethodDescriptor<Kind, Sent, Received, Returned, Result, Errors> {
  const { id, delivery, cursor, extension, blobs } = options;
  if (!isId(id, 1, 0x3fff) || !isId(service.id, 0, 0xffff))
    throw new RangeError(`an id is out of range: ${name} is ${id}, service ${service.name} is ${service.id}`);
  if (blobs !== undefined && kind !== "unary")
    throw new TypeError(`${service.name}/${name} is ${kind}: blobs are for unary methods`);
  if (extension !== undefined && !extension.kinds.includes(kind))
    throw new TypeError(
      `${service.name}/${name} is ${kind}: ${extension.name} is for ${extension.kinds.join(", ")} methods`,
    );
  if (extension !== undefined && blobs !== undefined)
    throw new TypeError(`${service.name}/${name} cannot be ${extension.name}: its messages have blobs`);
  if (extension !== undefined && cursor !== undefined)
    throw new TypeError(`${service.name}/${name} cannot be ${extension.name}: its items have cursors`);
  const streams = cursor === undefined ? KINDS[kind] : cursorStreamCalls;
  const calling = delivery === "datagram" ? datagramCalls : streams;
  return describeMethod(service, calling as Calling<Kind>, name, options);
}

function isId(id: number, min: number, max: number): boolean {
  return Number.isInteger(id) && id >= min && id <= max;
}
