import { encodeText, type FrameWriter } from "./writer.js";

/** The method id of a notice, which no method has. */
export const MISFIT_NOTICE = 0;

/** Bytes of a reason. */
export const MAX_REASON_BYTES = 512;

/** A caller's word that it could not read an answer. */
export interface MisfitNotice {
  readonly methodId: number;
  readonly reason: string;
}

/** Appends the body of a notice: service (u16) | 0 | method (varint) | reason (UTF-8, cut). */
export function writeMisfitNotice(out: FrameWriter, serviceId: number, { methodId, reason }: MisfitNotice): void {
  out.methodId(serviceId, MISFIT_NOTICE);
  out.varint(methodId);
  out.bytes(encodeText(reason, MAX_REASON_BYTES));
}
