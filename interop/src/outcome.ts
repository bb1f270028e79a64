/** How one cell went. */
export type Outcome =
  | { readonly result: "ok" }
  | { readonly result: "failed"; readonly why: string }
  | { readonly result: "not offered"; readonly why: string }
  | { readonly result: "skipped"; readonly why: string };

const TIME_LIMIT_MS = 20_000;

/** A scenario's promise as an outcome; one that hangs has failed. */
export async function timeLimited(scenario: Promise<unknown>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${TIME_LIMIT_MS / 1000} s`)), TIME_LIMIT_MS);
  });
  try {
    await Promise.race([scenario, late]);
    return { result: "ok" };
  } catch (error) {
    const [why = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    return { result: "failed", why };
  } finally {
    clearTimeout(timer);
  }
}
