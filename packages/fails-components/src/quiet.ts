/** Matches the package's log messages about a missing quiche transport. */
const ABOUT_QUICHE = /^(http3 loader:|Problem loading http3-quiche transport|Did you install @fails-components\/)/;

/**
 * Runs `load` and suppresses the package's console output about a missing quiche transport. It would include stacks and
 * go to stdout, which may carry a session (`stdioTransport`). `http3Problem` reports the problem instead.
 */
export async function quietly<T>(load: () => Promise<T>): Promise<T> {
  const restore = [filtered("log"), filtered("error")];
  try {
    return await load();
  } finally {
    for (const put of restore) put();
  }
}

function filtered(name: "log" | "error"): () => void {
  const original = console[name];
  const filter = (...given: unknown[]): void => {
    if (!ABOUT_QUICHE.test(String(given[0]))) original(...given);
  };
  console[name] = filter;
  return () => {
    if (console[name] === filter) console[name] = original;
  };
}
