import { type Diagnostic, placeOf } from "./diagnostics.js";
import { type Lock, serviceOf } from "./lock/lock.js";
import type { FileModel } from "./model.js";

/** Reports services that a peer could not tell apart, among themselves and from those that only the lock knows. */
export function checkServices(
  models: readonly FileModel[],
  lock: Lock,
  report: (diagnostic: Diagnostic) => void,
): void {
  const names = new Set<string>();
  const ids = new Map([...lock.methods].map(([key, { serviceId }]) => [serviceId, serviceOf(key)]));
  for (const { services, schemaFile: file } of models) {
    for (const { name, id, node } of services) {
      const at = node === undefined ? { file } : placeOf(node);
      const other = ids.get(id);
      if (names.has(name)) {
        report({
          ...at,
          code: "duplicate-service",
          message: `There is another service ${name}.`,
          help: "Give one of them another name or version.",
          service: name,
        });
      } else if (other !== undefined && other !== name) {
        report({
          ...at,
          code: "service-id-clash",
          message: `${name} and ${other} have the same id, ${id}, which is a hash of the name.`,
          help: "Give one of them another name.",
          service: name,
        });
      }
      names.add(name);
      ids.set(id, name);
    }
  }
}
