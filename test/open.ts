import { afterEach } from "vitest";

/** Something that a test opens. */
interface Closable {
  close(): unknown;
}

/**
 * Returns a list for everything that the tests of a file open: after each test all of it is closed, in reverse order.
 */
export function closedAfterEach(): Closable[] {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });
  return open;
}
