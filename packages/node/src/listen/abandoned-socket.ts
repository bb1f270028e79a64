import { lstat, rm } from "node:fs/promises";
import { connect } from "node:net";

/** Removes a socket file on which no process listens, for example after a process was killed. */
export async function removeAbandoned(path: string): Promise<void> {
  if (await isAbandoned(path)) await rm(path, { force: true });
}

async function isAbandoned(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || !found.isSocket()) return false;
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
