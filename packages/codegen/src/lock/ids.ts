import { defaultServiceId } from "@quicrpc/core/generated";
import { type Lock, serviceOf } from "./lock.js";

/** Assigns the ids of services and methods on the wire. */
export interface IdAssigner {
  /** Returns 1 to 2^16-1. */
  serviceId(service: string): number;
  /** Returns ids from 1 to 2^14-1 for `methods`, which are in order of declaration. */
  methodIds(service: string, methods: readonly string[]): ReadonlyMap<string, number>;
}

/** Assigns services the hash of their name, and methods ids in their order. */
export const declarationOrder: IdAssigner = {
  serviceId: (service) => defaultServiceId(service),
  methodIds: (_service, methods) => new Map(methods.map((method, index) => [method, index + 1])),
};

/** Assigns ids with a lock file: methods in `lock` keep theirs, new ones get the ids after the highest that their service ever had. */
export function lockedIds(lock: Lock): IdAssigner {
  const services = new Map<string, { readonly id: number; readonly methods: Map<string, number>; last: number }>();
  for (const [key, { serviceId, methodId }] of lock.methods) {
    const name = serviceOf(key);
    const known = services.get(name) ?? { id: serviceId, methods: new Map<string, number>(), last: 0 };
    services.set(name, known);
    known.methods.set(key.slice(name.length + 1), methodId);
    known.last = Math.max(known.last, methodId);
  }
  return {
    serviceId: (service) => services.get(service)?.id ?? defaultServiceId(service),
    methodIds(service, methods) {
      const { methods: known, last } = services.get(service) ?? { methods: new Map<string, number>(), last: 0 };
      let next = last;
      return new Map(methods.map((method) => [method, known.get(method) ?? ++next]));
    },
  };
}
