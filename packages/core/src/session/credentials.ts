import type { Awaitable } from "../server/router.js";

/**
 * Credentials of a client: a token, or a function that returns one, for each session, and in a session that goes on before the last one
 * expires.
 */
export type Credentials = string | (() => Awaitable<string | undefined>);

/** The options of one session: its credentials are asked for, and again while it goes on. Rejects with what that throws. */
export async function withCredentials<Options extends { readonly credentials?: Credentials | undefined }>(
  options: Options,
): Promise<Omit<Options, "credentials"> & OwnCredentials> {
  const { credentials: given, ...others } = options;
  if (typeof given !== "function") return given === undefined ? others : { ...others, credentials: given };
  const credentials = await given();
  return { ...others, renewCredentials: given, ...(credentials !== undefined && { credentials }) };
}

/** Credentials of one session. */
export interface OwnCredentials {
  readonly credentials?: string;
  readonly renewCredentials?: () => Awaitable<string | undefined>;
}
