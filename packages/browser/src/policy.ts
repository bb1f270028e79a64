/** A failure that the page's Content Security Policy is the reason of: trying again in this page is pointless. */
export class ForbiddenError extends Error {}

/** URLs that the page's policy was seen to forbid. A page's policies never become laxer. */
const forbidden: Set<string> = new Set();
/** Milliseconds by which the event may come after the failure. */
const LATE_MS = 1000;

/**
 * Opens a transport to `url` by `open`. Rejects with a `ForbiddenError` where the page's policy forbids that: of a transport
 * browsers say only that it failed, or nothing at all, and give the reason by an event (CSP 3 §5.4). Where the event comes
 * after the failure, the next attempt fails with it.
 */
export function ifAllowed<T>(url: URL, open: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const type = "securitypolicyviolation";
    const { href, origin } = url;
    const refuse = (): void =>
      reject(new ForbiddenError(`the page's Content Security Policy lacks connect-src ${origin}`));
    const listener = ({ blockedURI, disposition }: SecurityPolicyViolationEvent): void => {
      if (disposition !== "enforce" || blockedURI !== href) return;
      forbidden.add(href);
      refuse();
    };
    if (forbidden.has(href)) return refuse();
    globalThis.addEventListener?.(type, listener);
    open()
      .then(resolve, reject)
      .finally(() => setTimeout(() => globalThis.removeEventListener?.(type, listener), LATE_MS));
  });
}
