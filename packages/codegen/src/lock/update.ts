import { CanonicalText } from "../shape/canonical.js";
import { fingerprintOf, formatFingerprint } from "../shape/fingerprint.js";
import { type SchemaSnapshot, type ServiceSnapshot, SNAPSHOT_VERSION } from "../shape/shape.js";
import { type Lock, type LockedMethod, serviceOf } from "./lock.js";

/**
 * Returns the lock after generating `services`: it contains their methods, and marks methods that they no longer have
 * as removed. Other services stay unchanged unless `complete` is true: then their methods are marked as removed, too.
 */
export function updateLock(lock: Lock, services: Readonly<Record<string, ServiceSnapshot>>, complete: boolean): Lock {
  const methods = new Map<string, LockedMethod>();
  for (const [key, locked] of lock.methods) {
    const isGone = complete || Object.hasOwn(services, serviceOf(key));
    methods.set(key, isGone ? { ...locked, removed: true } : locked);
  }
  for (const [service, { id, methods: present, types }] of Object.entries(services)) {
    const canonical = new CanonicalText(types);
    for (const [name, method] of Object.entries(present)) {
      methods.set(`${service}/${name}`, {
        serviceId: id,
        methodId: method.id,
        fingerprint: formatFingerprint(fingerprintOf(method, canonical)),
        removed: false,
      });
    }
  }
  return { ...lock, methods };
}

export function updateSnapshot(
  before: SchemaSnapshot | undefined,
  services: Readonly<Record<string, ServiceSnapshot>>,
  complete: boolean,
): SchemaSnapshot {
  return { version: SNAPSHOT_VERSION, services: complete ? services : { ...before?.services, ...services } };
}
