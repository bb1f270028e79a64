import type { ConnectOptions } from "./dial.js";
import { Endpoint } from "./endpoint.js";
import type { QuicSession } from "./session.js";

/** The client endpoint of this thread: a module instance belongs to one thread. */
let shared: Endpoint | undefined;

/** Dials from a client endpoint that the whole thread shares. Without sessions it does not keep the process alive. */
export async function connect(options: ConnectOptions): Promise<QuicSession> {
  if (shared === undefined || shared.closed) shared = Endpoint.bind();
  return shared.connect(options);
}
