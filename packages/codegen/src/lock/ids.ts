import { defaultServiceId } from "@quicrpc/core/generated";
import { type Lock, serviceOf } from "./lock.js";

/** Assigns ids to services and methods. Peers identify them by these ids. */
export interface IdAssigner {
  /** Returns the id of a service, from 1 to 2^16-1. */
  serviceId(service: string): number;
  /** Returns the ids of `methods`, from 1 to 2^14-1. The methods are in the order of their declaration. */
  methodIds(service: string, methods: readonly string[]): ReadonlyMap<string, number>;
}

/** Assigns to a service the hash of its name, and to a method its position. */
export const declarationOrder: IdAssigner = {
  serviceId: (service) => defaultServiceId(service),
  methodIds: (_service, methods) => new Map(methods.map((method, index) => [method, index + 1])),
};

/**
 * Assigns ids by a lock file. Methods in `lock` keep their ids; new methods get ids after the highest one that their
 * service has ever used.
 */
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
