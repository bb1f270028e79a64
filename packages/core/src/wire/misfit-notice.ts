import { encodeText, type FrameWriter } from "./writer.js";

/** Method id of a schema mismatch notice. No method has this id. */
export const MISFIT_NOTICE = 0;

export const MAX_REASON_BYTES = 512;

/** A caller's report that it could not decode a response. */
export interface MisfitNotice {
  readonly methodId: number;
  readonly reason: string;
}

/** Appends the body of a schema mismatch notice: service (u16) | 0 | method (varint) | reason (UTF-8, cut). */
export function writeMisfitNotice(out: FrameWriter, serviceId: number, { methodId, reason }: MisfitNotice): void {
  out.methodId(serviceId, MISFIT_NOTICE);
  out.varint(methodId);
  out.bytes(encodeText(reason, MAX_REASON_BYTES));
}
