import type { AnyMethod } from "../contract/descriptor.js";
import { declaredError } from "../contract/method-errors.js";
import { RpcError } from "../errors.js";
import type { Channel } from "../transport/channel.js";
import { expand } from "../transport/compression.js";
import { type Fault, packDetails, readFault, type ReceivedFault } from "../wire/fault.js";
import type { Frame } from "../wire/frame.js";
import type { HeadFields } from "../wire/head.js";
import { decodeMetadata } from "../wire/metadata.js";
import { unpack } from "../msgpack/message.js";
import { FrameWriter } from "../wire/writer.js";

/**
 * What an error says to the peer. Its name is told only where the method declares it; `onMisfit` hears of details that do not
 * fit what is declared, which are then told without the name.
 */
export function faultOf(
  error: RpcError,
  method: AnyMethod | undefined,
  head: HeadFields | undefined,
  onMisfit: (error: unknown) => void,
): Fault {
  const { code, message, reason } = error;
  const declared = method === undefined || reason === undefined ? undefined : declaredError(method, reason);
  if (declared === undefined) return { code, message, head, details: packDetails(error.details) };
  try {
    const out = new FrameWriter(256);
    declared.details?.encode(error.details, out);
    return { code, message, head: { ...head, reason }, details: out.position === 0 ? undefined : out.written() };
  } catch (misfit) {
    onMisfit(new Error(`the details of ${reason} do not fit their schema: ${String(misfit)}`, { cause: misfit }));
    return { code, message, head, details: packDetails(error.details) };
  }
}

/** Reads an error frame that came on `channel`. */
export function receiveFault({ compression }: Channel, frame: Frame, maxMetadataBytes: number): ReceivedFault {
  return readFault(frame, maxMetadataBytes, (bytes, start, end) => expand(compression, bytes, start, end));
}

/** The error that a caller gets. Details that do not fit what the method declares are kept, without the name. */
export function errorOf({ code, message, head, details }: ReceivedFault, method: AnyMethod): RpcError {
  const metadata = decodeMetadata(head?.trailers);
  const reason = head?.reason;
  const refused = head?.refused ?? false;
  const codec = reason === undefined ? undefined : declaredError(method, reason)?.details;
  if (codec === undefined) {
    return new RpcError(code, message, { reason, details: unpackDetails(details), metadata, refused });
  }
  try {
    const bytes = details ?? new Uint8Array(0);
    return new RpcError(code, message, { reason, details: codec.decode(bytes, 0, bytes.length), metadata, refused });
  } catch {
    return new RpcError(code, message, { details: unpackDetails(details), metadata, refused });
  }
}

/** Details that cannot be read are left out. */
function unpackDetails(details: Uint8Array | undefined): unknown {
  if (details === undefined) return undefined;
  try {
    return unpack(details, 0, details.length);
  } catch {
    return undefined;
  }
}
