import { defaultServiceId } from "@quicrpc/core";

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
