import { afterEach } from "vitest";

/** Something that a test opens. */
interface Closable {
  close(): unknown;
}

/** A list for what the tests of a file open: after each of them all of it is closed, the last first. */
export function closedAfterEach(): Closable[] {
  const open: Closable[] = [];
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });
  return open;
}
