import { compareText } from "../shape/canonical.js";

/**
 * `quicrpc.lock.json`: the permanent ids of methods on the wire. It has one sorted line per method, so that branches
 * that add methods can be merged. Ids of removed methods stay in it and are never reused.
 */
export interface Lock {
  /** Ids of methods by `service/method`. */
  readonly methods: ReadonlyMap<string, LockedMethod>;
}

/** A line of the lock file. */
export interface LockedMethod {
  readonly serviceId: number;
  readonly methodId: number;
  /** Eight hexadecimal digits. */
  readonly fingerprint: string;
  /** True if the method was removed; its id stays reserved. */
  readonly removed: boolean;
}

export const EMPTY_LOCK: Lock = { methods: new Map() };

/** Returns the service in a key `service/method`. */
export function serviceOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

/** Formats the lock as a file. */
export function formatLock(lock: Lock): string {
  const lines = [...lock.methods]
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, { serviceId, methodId, fingerprint, removed }]) => {
      const gone = removed ? `, "removed": true` : "";
      return `    ${JSON.stringify(key)}: { "id": [${serviceId}, ${methodId}], "fingerprint": "${fingerprint}"${gone} }`;
    });
  return `{\n  "version": 1,\n  "methods": {\n${lines.join(",\n")}\n  }\n}\n`;
}

/** Renames a method (`service/method`) or a whole service from `from` to `to`, and keeps its ids. Throws `RangeError` if it cannot. */
export function renameLocked(lock: Lock, from: string, to: string): Lock {
  const isMethod = from.includes("/");
  if (isMethod !== to.includes("/")) throw new RangeError(`${from} and ${to} are not both methods or both services.`);
  if (isMethod && serviceOf(from) !== serviceOf(to)) {
    throw new RangeError("A method cannot move to another service: its id is that of its service and its own.");
  }
  const renamed = new Map<string, string>();
  for (const [key, { removed }] of lock.methods) {
    if (isMethod ? key === from : serviceOf(key) === from)
      renamed.set(key, isMethod ? to : to + key.slice(from.length));
    const taken = isMethod ? key === to : serviceOf(key) === to;
    if (taken && !removed) throw new RangeError(`${to} is in the lock already.`);
    if (taken) throw new RangeError(`${to} is in the lock as removed, and its id is reserved. Use another name.`);
  }
  if (renamed.size === 0) throw new RangeError(`${from} is not in the lock.`);
  return { methods: new Map([...lock.methods].map(([key, value]) => [renamed.get(key) ?? key, value])) };
}
