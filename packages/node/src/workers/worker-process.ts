import type { Worker } from "node:cluster";
import { TransportError } from "@quicrpc/core";
import type { ErrorDescription, ToWorker } from "./messages.js";

/**
 * Milliseconds that a worker has to exit by itself after its server has ended, and again after it was asked to exit.
 */
export const GRACE_MS = 2000;

export function send(worker: Worker | undefined, message: ToWorker): void {
  if (worker?.isConnected() === true) worker.send(message, () => {});
}

/** Sets whether a worker keeps this process running. */
export function refer(worker: Worker | undefined, referenced: boolean): void {
  if (worker === undefined) return;
  const { process: child } = worker;
  if (referenced) {
    child.ref();
    child.channel?.ref();
  } else {
    child.unref();
    child.channel?.unref();
  }
}

/**
 * Kills a worker's process after `afterMs` milliseconds. Does nothing if it has exited before, or if the returned
 * function was called.
 */
export function endAfter(worker: Worker, afterMs: number): () => void {
  let timer = setTimeout(() => {
    worker.process.kill("SIGTERM");
    timer = setTimeout(() => worker.process.kill("SIGKILL"), GRACE_MS);
  }, afterMs);
  const stop = (): void => clearTimeout(timer);
  worker.once("exit", stop);
  return stop;
}

/**
 * Watches a worker's process. Calls `onEnded` with an error that states how the process ended or why it could not
 * start, and `onError` with other errors of the process.
 */
export function watchProcess(
  worker: Worker,
  place: number,
  onEnded: (error: Error) => void,
  onError: (error: Error) => void,
): void {
  worker.on("error", (error: Error) => {
    if (worker.process.pid === undefined) onEnded(error);
    else onError(error);
  });
  worker.once("exit", (code: number | null, signal: string | null) => {
    const exitText = signal === null ? `exit code ${code}` : `signal ${signal}`;
    onEnded(new Error(`worker ${place} (process ${worker.process.pid}) ended: ${exitText}`));
  });
}

export function workerErrorOf({ name, message, code, url, hint }: ErrorDescription): Error {
  if (code !== undefined && url !== undefined) return new TransportError({ code, url, message, hint });
  return name === "TypeError" ? new TypeError(message) : new Error(message);
}
