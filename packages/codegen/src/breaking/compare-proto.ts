import type { ProtoShape } from "../shape/shape.js";
import type { MethodChangeKind } from "./change.js";

type Shapes = Readonly<Record<string, ProtoShape>>;

/** Called for each difference. `path` is the location, such as `Row.name`. */
type ReportChange = (kind: MethodChangeKind, path: string, message: string) => void;

/**
 * Reports differences between the protobuf messages of two versions that change the meaning of encoded bytes. Types are
 * compared by their content, because names are not encoded. Removed fields and enum values are not reported, because
 * their numbers are reserved.
 */
export function compareProto(before: Shapes, after: Shapes, report: ReportChange): void {
  const compared = new Set<string>();
  const compare = (oldName: string, newName: string): void => {
    const pair = `${oldName} ${newName}`;
    const [old, now] = [before[oldName], after[newName]];
    if (compared.has(pair) || old === undefined || now === undefined) return;
    compared.add(pair);
    compareNumbers(newName, valuesOf(old), valuesOf(now), report);
    const fields = new Map(Object.values(now.fields ?? {}));
    for (const [key, [number, oldText]] of Object.entries(old.fields ?? {})) {
      const newText = fields.get(number);
      if (newText === undefined) continue;
      const [a, b] = [partsOf(oldText), partsOf(newText)];
      const sameKind = a.label === b.label && kindOf(before, a.name) === kindOf(after, b.name);
      if (!sameKind) {
        report("proto-type-changed", `${newName}.${key}`, `field ${number} was ${oldText} and is ${newText}`);
      } else {
        compare(a.name, b.name);
      }
    }
  };
  for (const name of Object.keys(before)) if (Object.hasOwn(after, name)) compare(name, name);
}

function valuesOf({ fields, values = {} }: ProtoShape): [key: string, number: number][] {
  return fields === undefined
    ? Object.entries(values)
    : Object.entries(fields).map(([key, [number]]): [string, number] => [key, number]);
}

function compareNumbers(
  name: string,
  old: readonly (readonly [key: string, number: number])[],
  now: readonly (readonly [key: string, number: number])[],
  report: ReportChange,
): void {
  const numbers = new Map(now);
  const keys = new Map(now.map(([key, number]) => [number, key]));
  for (const [key, number] of old) {
    const given = numbers.get(key);
    const other = keys.get(number);
    if (given !== undefined && given !== number) {
      report("proto-number-changed", `${name}.${key}`, `its number in protobuf was ${number} and is ${given}`);
    } else if (given === undefined && other !== undefined) {
      report(
        "proto-field-renamed",
        `${name}.${key}`,
        `number ${number} is called ${other} now, also in protobuf's JSON`,
      );
    }
  }
}

function partsOf(text: string): { readonly label: string; readonly name: string } {
  const [, label = "", name = text] = /^(map<\w+,|\w+) ([\w.]+)>?$/.exec(text) ?? [];
  return { label, name };
}

/** Returns the wire form of the type with this name: a scalar or well-known type, a message, or an enum. */
function kindOf(shapes: Shapes, name: string): string {
  const shape = shapes[name];
  return shape === undefined ? name : shape.fields === undefined ? "enum" : "message";
}
