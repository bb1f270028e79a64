import type { Awaitable } from "../server/router.js";

/**
 * Credentials of a client: a token, or a function that returns one. The function is called for each session, and during
 * a session before the last token expires.
 */
export type Credentials = string | (() => Awaitable<string | undefined>);

/**
 * Returns the options of one session, with credentials from the function, which is called again to renew them. Rejects
 * with the function's error.
 */
export async function withCredentials<Options extends { readonly credentials?: Credentials | undefined }>(
  options: Options,
): Promise<Omit<Options, "credentials"> & OwnCredentials> {
  const { credentials: given, ...others } = options;
  if (typeof given !== "function") return given === undefined ? others : { ...others, credentials: given };
  const credentials = await given();
  return { ...others, renewCredentials: given, ...(credentials !== undefined && { credentials }) };
}

/** The credentials of one session. */
export interface OwnCredentials {
  readonly credentials?: string;
  readonly renewCredentials?: () => Awaitable<string | undefined>;
}
