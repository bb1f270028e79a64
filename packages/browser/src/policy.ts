import type { SessionOptions } from "@quicrpc/core";

/** Error for a transport that the page's Content Security Policy forbids. A retry in the same page cannot succeed. */
export class ForbiddenError extends Error {}

/**
 * URLs that the page's Content Security Policy forbids. They are never removed, because the policies of a page never
 * become less strict.
 */
const forbidden: Set<string> = new Set();
/** Maximum time in milliseconds between the failure of a transport and the event that states its reason. */
const LATE_MS = 1000;

/**
 * Opens a transport to `url` with `open`. Rejects with a `ForbiddenError` if the page's Content Security Policy forbids
 * it. Browsers report only that a transport has failed, or nothing at all; the reason is in an event (CSP 3 §5.4). If
 * the event arrives after the failure, the next attempt rejects with it.
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
 * Returns the default of the option `via` for this browser. In Firefox all calls share lanes, because Firefox does not
 * report the `cancel` of a stream to the peer, and loses received data when the peer stops reading.
 */
export function usualVia(): Pick<SessionOptions, "via"> {
  return globalThis.navigator?.userAgent?.includes("Firefox/") ? { via: "lane" } : {};
}
