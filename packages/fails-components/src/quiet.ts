/** How the package's words begin about a quiche transport that it did not find. */
const ABOUT_QUICHE = /^(http3 loader:|Problem loading http3-quiche transport|Did you install @fails-components\/)/;

/**
 * Runs `load`, and keeps from the console what the package says there about a missing quiche transport, with stacks and on
 * stdout, which may carry a session (`stdioTransport`). `http3Problem` says it to whoever needs to know.
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
