import type { Awaitable } from "../server/router.js";

/** Credentials of a client: a token, or a function that returns one for each session, such as one that was renewed. */
export type Credentials = string | (() => Awaitable<string | undefined>);

/** The options of the next session: its credentials are asked for. Rejects with what that throws. */
export async function withCredentials<Options extends { readonly credentials?: Credentials | undefined }>(
  options: Options,
): Promise<Omit<Options, "credentials"> & { readonly credentials?: string }> {
  const { credentials: given, ...others } = options;
  const credentials = typeof given === "function" ? await given() : given;
  return credentials === undefined ? others : { ...others, credentials };
}
