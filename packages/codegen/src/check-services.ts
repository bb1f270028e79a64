import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Diagnostic, sourcePlaceOf, type SourcePlace } from "./diagnostics.js";
import { type Lock, serviceOf } from "./lock/lock.js";
import type { FileModel } from "./model.js";

/**
 * Reports services that a peer could not distinguish because their names or ids are equal. Also compares them with
 * services that only the lock file contains.
 */
export function checkServices(
  models: readonly FileModel[],
  lock: Lock,
  isWanted: (model: FileModel) => boolean,
  report: (diagnostic: Diagnostic) => void,
): void {
  // Files that were not requested come first, so that errors are reported in the requested ones.
  const sorted = [...models].sort((a, b) => Number(isWanted(a)) - Number(isWanted(b)));
  const names = new Map<string, SourcePlace>();
  const ids = new Map([...lock.methods].map(([key, { serviceId }]) => [serviceId, serviceOf(key)]));
  for (const model of sorted) {
    const { services, schemaFile: file } = model;
    const tell = isWanted(model) ? report : () => {};
    for (const { name, id, node } of services) {
      const at = node === undefined ? { file } : sourcePlaceOf(node);
      const other = ids.get(id);
      const first = names.get(name);
      if (first !== undefined) {
        tell({
          ...at,
          other: first,
          code: "duplicate-service",
          message: `There is another service ${name}.`,
          help: "Give one of them another name or version.",
          service: name,
        });
      } else if (other !== undefined && other !== name) {
        tell({
          ...at,
          code: "service-id-clash",
          message: `${name} and ${other} have the same id, ${id}, which is a hash of the name.`,
          help: "Give one of them another name.",
          service: name,
        });
      }
      names.set(name, at);
      ids.set(id, name);
    }
  }
}

const DURABLE = "@quicrpc/durable";
const PROTOBUF = "@quicrpc/protobuf";

/** Settings that decide which packages the generated code imports. */
export interface Generated {
  /** True if only code for HTTP clients is generated, which does not resume calls. */
  readonly foreign: boolean;
  /** True if `.proto` files are generated, with the readers and writers of their messages. */
  readonly proto: boolean;
}

/** Reports services whose generated code imports a package that is not installed next to `@quicrpc/core`. */
export function checkPackages(
  { schemaFile: file, services }: FileModel,
  output: string,
  { foreign, proto }: Generated,
  report: (diagnostic: Diagnostic) => void,
): void {
  const { resolve } = createRequire(join(dirname(output), "generated.js"));
  const isInstalled = (name: string): boolean => {
    try {
      return resolve(`${name}/package.json`) !== "";
    } catch {
      return false;
    }
  };
  if (!isInstalled("@quicrpc/core")) return;
  for (const { name: service, methods, node } of services) {
    const at = node === undefined ? { file } : sourcePlaceOf(node);
    const missing = (importer: string, name: string, method?: string): void =>
      report({
        ...at,
        code: "missing-package",
        message: `${importer} imports ${name}, which is not installed.`,
        help: `Install the package: npm install ${name}.`,
        service,
        ...(method === undefined ? {} : { method }),
      });
    const method = methods.find(({ once, resumable }) => once || (resumable && !foreign));
    if (method !== undefined && !isInstalled(DURABLE)) {
      const kind = method.once ? "once" : "resumable";
      missing(`The code of ${method.name}, which is ${kind},`, DURABLE, method.name);
    }
    if (proto && !isInstalled(PROTOBUF)) missing(`The code that reads and writes ${service} in protobuf`, PROTOBUF);
  }
}
