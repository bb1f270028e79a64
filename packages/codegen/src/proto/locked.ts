import type { Diagnostic } from "../diagnostics.js";
import type { LockedNumbers } from "../lock/lock.js";
import type { ProtoShape } from "../shape/shape.js";
import {
  type Declared,
  fullName,
  numberedFields,
  packageAndPath,
  pathName,
  type ProtoField,
  type ProtoPackage,
  type ProtoService,
} from "./model.js";

/** Returns the field numbers of a package's messages and enums, by full name, for the lock file. */
export function lockedNumbersOf({ name, types }: ProtoPackage): Map<string, LockedNumbers> {
  const numbers = new Map<string, LockedNumbers>();
  const add = (type: Declared): void => {
    if (type.kind === "enum" && type.isNumbered) return;
    numbers.set(fullName(name, type.path), type.numbers);
    if (type.kind === "message") for (const each of type.nested) add(each);
  };
  for (const type of types) add(type);
  return numbers;
}

/** Returns the protobuf messages and enums that a service uses, by their name in the package. */
export function protoShapesOf({ methods }: ProtoService): Record<string, ProtoShape> {
  const shapes: Record<string, ProtoShape> = {};
  const add = (type: Declared): void => {
    const name = pathName(type);
    if (Object.hasOwn(shapes, name)) return;
    if (type.kind === "enum") {
      shapes[name] = { values: Object.fromEntries(type.values.map(({ key, number }) => [key, number])) };
      return;
    }
    const { oneof } = type;
    const fields = numberedFields(type);
    shapes[name] = {
      fields: Object.fromEntries(fields.map((field) => [field.key, [field.number, typeText(field, oneof)]])),
    };
    for (const { type } of fields) if (type.kind === "message" || type.kind === "enum") add(type);
  };
  for (const { input, output } of methods) for (const message of [input, output]) add(message);
  return shapes;
}

function typeText(field: ProtoField, oneof: string | undefined): string {
  const { type } = field;
  const text = "path" in type ? pathName(type) : type.name;
  if (field.label === "map") return `map<${field.keyType.name}, ${text}>`;
  const label = oneof === undefined ? field.label : "oneof";
  return label === "implicit" ? text : `${label} ${text}`;
}

/**
 * Returns warnings for new messages with the same fields as a message that is only in the lock file. The message was
 * probably renamed, or its service moved to another package.
 *
 * @param numbers field numbers of the current messages
 * @param complete true if `numbers` contains all packages of the project
 */
export function goneMessages(
  numbers: ReadonlyMap<string, LockedNumbers>,
  locked: ReadonlyMap<string, LockedNumbers>,
  complete: boolean,
): Diagnostic[] {
  const packages = new Set(Array.from(numbers.keys(), (name) => packageAndPath(name)[0]));
  const keysOf = (each: LockedNumbers): string => [...each.numbers.keys()].sort().join("\n");
  const gone = [...locked].filter(
    ([name]) => !numbers.has(name) && (complete || packages.has(packageAndPath(name)[0])),
  );
  const added = [...numbers].filter(([name, own]) => !locked.has(name) && own.numbers.size > 0);
  return added.flatMap(([name, own]): Diagnostic[] => {
    const [packageName, path] = packageAndPath(name);
    const before = gone.find(([other, each]) => {
      const [otherPackage, otherPath] = packageAndPath(other);
      const isNear = packageName === otherPackage || path === otherPath;
      return isNear && each.kind === own.kind && keysOf(each) === keysOf(own);
    });
    if (before === undefined) return [];
    return [
      {
        code: "proto-renamed",
        message: `${name} has the fields of ${before[0]}, which is gone, and other numbers.`,
        help: `If it was renamed, restore quicrpc.lock.json and run quicrpc rename ${before[0]} ${name} before quicrpc gen.`,
      },
    ];
  });
}
