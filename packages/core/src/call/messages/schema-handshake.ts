import { type AnyMethod, fullName } from "../../contract/descriptor.js";
import { RpcError } from "../../errors.js";

/**
 * The peer's schemas, as far as a session has learned them. The first call of each method tells the callee the
 * fingerprint of the caller's schema, and a callee with a different one answers with its own. A difference alone is not
 * an error, because schemas may evolve; it explains a message that does not match.
 */
export class SchemaHandshake {
  /** Methods whose fingerprint was sent; undefined while there is at most one, the last. */
  #told: Set<AnyMethod> | undefined;
  #different: Set<AnyMethod> | undefined;
  #unreadable: Set<AnyMethod> | undefined;
  #last: AnyMethod | undefined;

  /** Returns the fingerprint to send with a call's request; usually undefined. */
  greet(method: AnyMethod): number | undefined {
    const last = this.#last;
    if (method === last || method.fingerprint === undefined) return undefined;
    this.#last = method;
    if (last === undefined) return method.fingerprint;
    const { size } = (this.#told ??= new Set([last]));
    return this.#told.add(method).size > size ? method.fingerprint : undefined;
  }

  /** Stores the peer's fingerprint. Returns true if it differs from ours. */
  learn(method: AnyMethod, fingerprint: number): boolean {
    const differs = method.fingerprint !== undefined && method.fingerprint !== fingerprint;
    if (differs) (this.#different ??= new Set()).add(method);
    return differs;
  }

  /** Returns `error`, or an explanation of it if a message does not match because the peers' schemas differ. */
  explain(method: AnyMethod, error: RpcError): RpcError {
    if (error.code !== "invalid_argument" || this.#different?.has(method) !== true) return error;
    const text = `the peers were generated from different schemas of ${fullName(method)}: ${error.message}`;
    return new RpcError("failed_precondition", text, { details: error.details, cause: error });
  }

  /** Returns whether it is the first answer of the method that could not be read. */
  isFirstUnreadable(method: AnyMethod): boolean {
    const { size } = (this.#unreadable ??= new Set());
    return this.#unreadable.add(method).size > size;
  }

  /**
   * Returns the error for a response that cannot be decoded. The peer sent a message that its own schema forbids, so it
   * is never the caller's fault, whatever error the codec throws.
   */
  unreadable(method: AnyMethod, error: unknown): RpcError {
    const explained = this.explain(method, RpcError.from(error));
    const { code, message, details } = explained;
    if (["failed_precondition", "unimplemented", "resource_exhausted"].includes(code)) return explained;
    const text = `the answer of ${fullName(method)} does not fit its schema: ${message}`;
    return new RpcError("internal", text, { details, cause: error });
  }
}
