/** Titles of tests, and why a kind skips them. */
export type Reasons = readonly (readonly [RegExp, string])[];

/** Returns what skips the test that is running. */
export async function skipper(): Promise<(reason: string) => never> {
  // Not before there is a test: the kinds are listed outside of the runner as well.
  const { TestRunner } = await import("vitest");
  const test = TestRunner.getCurrentTest();
  return (reason) => {
    if (test === undefined) throw new Error(reason);
    return test.context.skip(reason);
  };
}

/** Skips the test that is running. */
export async function notHere(reason: string): Promise<never> {
  const skip = await skipper();
  return skip(reason);
}

/** Skips the running test if its title is one of these. */
export async function skipExcepted(reasons: Reasons): Promise<void> {
  const { TestRunner } = await import("vitest");
  const title = TestRunner.getCurrentTest()?.name ?? "";
  for (const [titles, reason] of reasons) if (titles.test(title)) await notHere(reason);
}
