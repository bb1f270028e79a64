import type { Awaitable } from "../server/router.js";

/** Creates a session by `make` on an opened connection. Closes the connection if `make` fails. */
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
