import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { type IncomingRequest, readMisfitNotice } from "../wire/request.js";
import type { ErrorHook } from "./dispatch.js";
import { sanitizeForLog } from "./log-error.js";
import type { MethodTable } from "./router.js";

/** Reports responses that the peer could not read to the error hook, once per method and session. */
export class MisfitNotices {
  readonly #table: MethodTable<never>;
  readonly #onError: ErrorHook;
  readonly #told: Set<AnyMethod> = new Set();

  constructor(table: MethodTable<never>, onError: ErrorHook) {
    this.#table = table;
    this.#onError = onError;
  }

  /** Receives a notice. Notices about methods that are not served here are dropped. */
  receive({ serviceId, cursor }: IncomingRequest): void {
    const { methodId, reason } = readMisfitNotice(cursor);
    const method = this.#table.find(serviceId, methodId)?.method;
    if (method === undefined || this.#told.has(method)) return;
    this.#told.add(method);
    const error = new RpcError("internal", `its caller could not read the answer: ${sanitizeForLog(reason)}`);
    this.#onError(error, { method: fullName(method) });
  }
}
