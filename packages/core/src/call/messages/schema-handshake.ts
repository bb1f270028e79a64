import { type AnyMethod, fullName } from "../../contract/descriptor.js";
import { RpcError } from "../../errors.js";

/**
 * Detects schemas that differ between the two peers of a session. The first call of each method sends the fingerprint
 * (hash) of the caller's schema; a callee with another schema responds with its own. A difference is not an error,
 * because schemas may evolve, but it explains why a message does not match.
 */
export class SchemaHandshake {
  /** Methods whose fingerprint was sent. Undefined until a second method is called. */
  #told: Set<AnyMethod> | undefined;
  #different: Set<AnyMethod> | undefined;
  #unreadable: Set<AnyMethod> | undefined;
  #last: AnyMethod | undefined;

  /** Returns the fingerprint to send with a call: defined only for the first call of a method that has one. */
  greet(method: AnyMethod): number | undefined {
    const last = this.#last;
    if (method === last || method.fingerprint === undefined) return undefined;
    this.#last = method;
    if (last === undefined) return method.fingerprint;
    const { size } = (this.#told ??= new Set([last]));
    return this.#told.add(method).size > size ? method.fingerprint : undefined;
  }

  /**
   * Compares the peer's fingerprint of a method with this side's. Returns true, and remembers the method, if they
   * differ.
   */
  learn(method: AnyMethod, fingerprint: number): boolean {
    const differs = method.fingerprint !== undefined && method.fingerprint !== fingerprint;
    if (differs) (this.#different ??= new Set()).add(method);
    return differs;
  }

  /**
   * Returns an error that blames different schemas if `error` is about a message that does not match and the peers'
   * schemas of `method` differ. Otherwise returns `error`.
   */
  explain(method: AnyMethod, error: RpcError): RpcError {
    if (error.code !== "invalid_argument" || this.#different?.has(method) !== true) return error;
    const text = `the peers were generated from different schemas of ${fullName(method)}: ${error.message}`;
    return new RpcError("failed_precondition", text, { details: error.details, cause: error });
  }

  /** Returns true the first time that it is called for a method, to report an undecodable response only once. */
  isFirstUnreadable(method: AnyMethod): boolean {
    const { size } = (this.#unreadable ??= new Set());
    return this.#unreadable.add(method).size > size;
  }

  /**
   * Returns the error for a response that cannot be decoded. It is usually `internal`: the peer has sent a message that
   * its own schema forbids, so the caller is not at fault.
   */
  unreadable(method: AnyMethod, error: unknown): RpcError {
    const explained = this.explain(method, RpcError.from(error));
    const { code, message, details } = explained;
    if (["failed_precondition", "unimplemented", "resource_exhausted"].includes(code)) return explained;
    const text = `the answer of ${fullName(method)} does not fit its schema: ${message}`;
    return new RpcError("internal", text, { details, cause: error });
  }
}
