import type { Awaitable } from "../server/router.js";

/**
 * Credentials of a client: a token, or a function that returns one. The function is called for each new session, and
 * during a session before the token expires.
 */
export type Credentials = string | (() => Awaitable<string | undefined>);

/**
 * Returns the options of one session. If `credentials` is a function, calls it, and sets it as `renewCredentials`.
 * Rejects with the error of that function.
 */
export async function withCredentials<Options extends { readonly credentials?: Credentials | undefined }>(
  options: Options,
): Promise<Omit<Options, "credentials"> & OwnCredentials> {
  const { credentials: source, ...otherOptions } = options;
  if (typeof source !== "function")
    return source === undefined ? otherOptions : { ...otherOptions, credentials: source };
  const credentials = await source();
  return { ...otherOptions, renewCredentials: source, ...(credentials !== undefined && { credentials }) };
}

/** Credentials of one session, and the function that renews them. */
export interface OwnCredentials {
  readonly credentials?: string;
  readonly renewCredentials?: () => Awaitable<string | undefined>;
}
