/** A failure that the page's Content Security Policy is the reason of: trying again in this page is pointless. */
export class ForbiddenError extends Error {}

/** Schemes and hosts that the page's policy was seen to forbid. A page's policies never become laxer. */
const forbidden: Set<string> = new Set();
const listeners: Set<() => void> = new Set();
let watches = false;

/**
 * Opens a transport to `url` by `open`. Rejects with a `ForbiddenError` where the page's policy forbids that: of a transport
 * browsers say only that it failed, or nothing at all, and give the reason by an event (CSP 3 §5.4). The event may come after
 * the failure; then the next attempt fails with it.
 */
export async function ifAllowed<T>(url: URL, open: () => Promise<T>): Promise<T> {
  const { protocol, host } = url;
  const source = `${protocol}//${host}`;
  let check = (): void => {};
  const refusal = new Promise<never>((_, reject) => {
    check = () => {
      if (!forbidden.has(source)) return;
      reject(new ForbiddenError(`the page's Content Security Policy lacks connect-src ${source}`));
    };
  });
  watch();
  check();
  if (forbidden.has(source)) return refusal;
  listeners.add(check);
  try {
    return await Promise.race([open(), refusal]);
  } finally {
    listeners.delete(check);
  }
}

function watch(): void {
  if (watches) return;
  watches = true;
  globalThis.addEventListener?.("securitypolicyviolation", ({ blockedURI, disposition, effectiveDirective }) => {
    if (disposition !== "enforce" || effectiveDirective !== "connect-src" || !URL.canParse(blockedURI)) return;
    const { protocol, host } = new URL(blockedURI);
    forbidden.add(`${protocol}//${host}`);
    for (const check of listeners) check();
  });
}
