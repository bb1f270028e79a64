import { fnv1a } from "@quicrpc/core/internal";
import { type CanonicalText, compareText } from "./canonical.js";
import type { MethodSnapshot } from "./shape.js";

/**
 * Returns a 32-bit hash that differs if two versions of a method have different wire formats: in kind, delivery, types,
 * fields, optional parts or declared errors. Names of methods and types, comments, checks (lengths, bounds, formats)
 * and the order of fields and options do not affect it.
 */
export function fingerprintOf(method: MethodSnapshot, text: CanonicalText): number {
  const errors = Object.entries(method.errors ?? {})
    .map(([reason, { code, details }]) => [reason, code, details === undefined ? "" : text.of(details)])
    .sort(([a = ""], [b = ""]) => compareText(a, b));
  return fnv1a(
    JSON.stringify([
      method.kind,
      method.delivery ?? "",
      method.input === undefined ? "" : text.of(method.input),
      method.output === undefined ? "" : text.of(method.output),
      errors,
    ]),
  );
}

/** Formats a fingerprint as eight hexadecimal digits, as in the lock file. */
export function formatFingerprint(fingerprint: number): string {
  return fingerprint.toString(16).padStart(8, "0");
}
