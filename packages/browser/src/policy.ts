import type { SessionOptions } from "@quicrpc/core";

/** A failure caused by the page's Content Security Policy: retrying in this page is pointless. */
export class ForbiddenError extends Error {}

/** URLs that the page's policy has forbidden. A page's policies never become less strict. */
const forbidden: Set<string> = new Set();
/** Maximum milliseconds between the failure and the event. */
const LATE_MS = 1000;

/**
 * Opens a transport to `url` with `open`. Rejects with a `ForbiddenError` if the page's policy forbids it: browsers
 * report for a transport only that it failed, or nothing at all, and give the reason in an event (CSP 3 §5.4). If the
 * event follows the failure, the next attempt fails with it.
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

/**
 * Returns the default transport of calls in this browser. In Firefox all calls share lanes: its streams do not report
 * `cancel` to the peer, and lose received data when the peer stops reading from them.
 */
export function usualVia(): Pick<SessionOptions, "via"> {
  return globalThis.navigator?.userAgent?.includes("Firefox/") ? { via: "lane" } : {};
}
