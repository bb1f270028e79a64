import type { Awaitable } from "../server/router.js";

/** Creates a session on a connection that this side has opened. Closes the connection if that fails. */
export async function sessionOn<Reached extends { close(): unknown }, Made>(
  reached: Reached,
  make: (reached: Reached) => Awaitable<Made>,
): Promise<Made> {
  try {
    return await make(reached);
  } catch (error) {
    reached.close();
    throw error;
  }
}
