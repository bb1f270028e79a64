import protobuf from "protobufjs";
import { SCALARS } from "./fields.js";

/** What the scopes of a file depend on. */
export interface FileScope {
  /** Name of the file's package; empty if it has none. */
  readonly packageName: string;
  readonly imports: readonly string[];
  /** Those of `imports` whose declarations are visible to files that import this one. */
  readonly publicImports: readonly string[];
}

type Named = protobuf.Type | protobuf.Enum;

/**
 * Replaces the names of types in fields and methods by full names, by the rules of protoc: the innermost scope that
 * declares the first part of a name decides. The lookup of the parser also searches nested scopes.
 *
 * @returns fields and methods with a type that was not found, and its name
 */
export function resolveNames(
  root: protobuf.Root,
  files: ReadonlyMap<string, FileScope>,
): Map<protobuf.ReflectionObject, string> {
  const unresolved = new Map<protobuf.ReflectionObject, string>();
  const visible = new Map(
    Array.from(files.keys(), (name) => {
      const names = visibleFrom(name, files);
      return [name, { names, packages: [...names].map((each) => `.${files.get(each)?.packageName ?? ""}.`) }];
    }),
  );

  const find = (object: protobuf.Field | protobuf.Method, from: protobuf.ReflectionObject, name: string): string => {
    const { names = new Set<string>(), packages = [] } = visible.get(fileNameOf(from)) ?? {};
    const member = (
      scope: protobuf.ReflectionObject | undefined,
      key: string,
    ): protobuf.ReflectionObject | undefined => {
      const nested = scope instanceof protobuf.Namespace ? scope.nested : undefined;
      const found = nested !== undefined && Object.hasOwn(nested, key) ? nested[key] : undefined;
      if (found === undefined) return undefined;
      const isPackage = found instanceof protobuf.Namespace && !isType(found) && !(found instanceof protobuf.Service);
      const isVisible = isPackage
        ? packages.some((each) => each.startsWith(`${found.fullName}.`))
        : names.has(fileNameOf(found));
      return isVisible ? found : undefined;
    };
    const isAbsolute = name.startsWith(".");
    const [first = "", ...rest] = name.slice(isAbsolute ? 1 : 0).split(".");
    let scope: protobuf.ReflectionObject | null = isAbsolute ? root : from;
    for (; scope !== null; scope = scope.parent) {
      const found = member(scope, first);
      const isScope = found instanceof protobuf.Namespace || found instanceof protobuf.Enum;
      if (!(rest.length === 0 ? isType(found) : isScope)) continue;
      const type = rest.reduce(member, found);
      if (isType(type) && (object instanceof protobuf.Field || type instanceof protobuf.Type)) return type.fullName;
      break;
    }
    unresolved.set(object, name);
    return name;
  };

  const visit = (namespace: protobuf.NamespaceBase): void => {
    if (namespace instanceof protobuf.Type) {
      for (const field of namespace.fieldsArray) {
        if (!Object.hasOwn(SCALARS, field.type)) field.type = find(field, namespace, field.type);
      }
    } else if (namespace instanceof protobuf.Service) {
      for (const method of namespace.methodsArray) {
        method.requestType = find(method, namespace, method.requestType);
        method.responseType = find(method, namespace, method.responseType);
      }
    }
    for (const each of namespace.nestedArray) if (each instanceof protobuf.Namespace) visit(each);
  };
  visit(root);
  return unresolved;
}

function isType(object: protobuf.ReflectionObject | undefined): object is Named {
  return object instanceof protobuf.Type || object instanceof protobuf.Enum;
}

/** Returns the names of the files whose declarations a file can use, with its own. */
function visibleFrom(name: string, files: ReadonlyMap<string, FileScope>): Set<string> {
  const names = new Set([name, ...(files.get(name)?.imports ?? [])]);
  // Iteration includes names that are added meanwhile.
  for (const each of names) for (const other of files.get(each)?.publicImports ?? []) names.add(other);
  return names;
}

/** Returns the name of the file that declares an object. */
export function fileNameOf(object: protobuf.ReflectionObject): string {
  for (let each: protobuf.ReflectionObject | null = object; each !== null; each = each.parent) {
    if (each.filename !== null) return each.filename;
  }
  return "";
}
