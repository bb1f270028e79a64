import type { Awaitable } from "../server/router.js";

/** Makes a session on a connection that this side has opened. The connection is closed where that fails: nobody else has it. */
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
