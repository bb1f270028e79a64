import { type AnyMethod, fullName } from "../../contract/descriptor.js";
import { RpcError } from "../../errors.js";

/**
 * Detects schemas that differ between the two peers of a session. The first call of each method sends the fingerprint
 * (hash) of the caller's schema; a callee with another schema responds with its own. A difference is not an error,
 * because schemas may evolve, but it explains why a message does not match.
 */
export class SchemaHandshake {
  /** Methods whose fingerprint was sent. Undefined until that of a second method is sent. */
  #told: Set<AnyMethod> | undefined;
  #different: Set<AnyMethod> | undefined;
  #unreadable: Set<AnyMethod> | undefined;
  #last: AnyMethod | undefined;

  /** Returns the fingerprint of a method that was not sent yet; undefined if it was, or if the method has none. */
  unsent(method: AnyMethod): number | undefined {
    return method === this.#last || this.#told?.has(method) === true ? undefined : method.fingerprint;
  }

  /** Notes that the fingerprint of a method was sent. */
  sent(method: AnyMethod): void {
    if (this.#last !== undefined) (this.#told ??= new Set([this.#last])).add(method);
    this.#last = method;
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
