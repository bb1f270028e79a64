import { type CallContext, type Limits, RpcError } from "@quicrpc/core";
import { fullName, principalOf, type PrincipalOf } from "@quicrpc/core/internal";

/** Counts the blobs in the inputs of calls in progress, for each principal and over all sessions of a server. */
class BlobQuota {
  private readonly uses: Map<unknown, { blobs: number; bytes: number }> = new Map();

  /**
   * Counts the blobs of one call. Call the returned function when the handler has settled. Throws `RpcError`
   * `resource_exhausted` if the principal has too many blobs.
   *
   * @param principal the principal, or the session if the principal is unknown
   */
  enter(
    principal: unknown,
    blobs: number,
    bytes: number,
    { maxPrincipalBlobs, maxPrincipalBlobBytes }: Limits,
  ): () => void {
    const use = this.uses.get(principal) ?? { blobs: 0, bytes: 0 };
    if (use.blobs + blobs > maxPrincipalBlobs)
      throw tooMany("maxPrincipalBlobs", maxPrincipalBlobs, `${use.blobs + blobs} blobs`);
    if (use.bytes + bytes > maxPrincipalBlobBytes)
      throw tooMany("maxPrincipalBlobBytes", maxPrincipalBlobBytes, `${use.bytes + bytes} bytes of blobs`);
    this.uses.set(principal, use);
    use.blobs += blobs;
    use.bytes += bytes;
    return () => {
      use.blobs -= blobs;
      use.bytes -= bytes;
      if (use.blobs === 0) this.uses.delete(principal);
    };
  }
}

const quotas: WeakMap<object, BlobQuota> = new WeakMap();

/** Returns the quota that all sessions with the same `load` share. */
export function quotaOf(load: object): BlobQuota {
  const known = quotas.get(load);
  if (known !== undefined) return known;
  const quota = new BlobQuota();
  quotas.set(load, quota);
  return quota;
}

/** Returns the owner for whom the blobs of a call are counted: its principal, or its session if there is none. */
export function blobPrincipal(
  principal: PrincipalOf<never> | undefined,
  context: CallContext,
  session: unknown,
): unknown {
  const { connection } = context;
  if (principal === undefined && typeof connection !== "string") return session;
  const owner = principalOf(
    principal,
    context,
    `could not determine the principal of the blobs of ${fullName(context.method)}`,
  );
  return owner === "" ? session : owner;
}

function tooMany(setting: string, max: number, has: string): RpcError {
  const hint = "wait until other calls with blobs have ended";
  return new RpcError("resource_exhausted", `the caller would have ${has} in progress: limits.${setting} is ${max}`, {
    hint,
  });
}
