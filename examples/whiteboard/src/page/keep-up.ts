const PAUSE_MS = 400;

/** Runs `work` again whenever it ends, until the signal fires. Streams resume by themselves, and end if they cannot. */
export async function keepUp(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work().catch(() => {});
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
