import { defaultServiceId } from "@quicrpc/core/generated";
import { type Lock, serviceOf } from "./lock.js";

/** Decides what names services and methods on the wire. */
export interface IdAssigner {
  /** 1 to 2^16-1. */
  serviceId(service: string): number;
  /** The ids of `methods`, which are in order of declaration; each 1 to 2^14-1. */
  methodIds(service: string, methods: readonly string[]): ReadonlyMap<string, number>;
}

/** Services by the hash of their name, methods by their order. */
export const declarationOrder: IdAssigner = {
  serviceId: (service) => defaultServiceId(service),
  methodIds: (_service, methods) => new Map(methods.map((method, index) => [method, index + 1])),
};

/** Gives methods their ids: those in `lock` keep theirs, new ones get the ids after the highest that their service ever had. */
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
