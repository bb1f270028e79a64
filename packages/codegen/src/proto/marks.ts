import { isObject } from "@quicrpc/core/internal";
import type { SchemaNode } from "../schema/node.js";
import type { FieldType } from "./model.js";
import { isFieldNumber, isNumber, type NumberRange } from "./numbers.js";
import { UnmappableError } from "./value.js";

/** Content of `proto` in the metadata of a schema of integers: the name and the members of an enum. */
export interface EnumMark {
  readonly enum: string;
  readonly values: Readonly<Record<string, number>>;
}

/** What the metadata of an object schema states about one of its fields. */
interface FieldMark {
  readonly number?: number;
  /** Numbers of the options, if the field is a oneof of the object's message. */
  readonly arms?: Readonly<Record<string, number>>;
  /** True for a field that is always sent, also if it is zero. */
  readonly isRequired?: boolean;
  /** True for a list of numbers that are encoded one by one. */
  readonly isUnpacked?: boolean;
}

export function isEnumMark(mark: unknown): mark is EnumMark {
  return isObject(mark) && typeof mark["enum"] === "string" && isObject(mark["values"]);
}

/**
 * Returns what `mark`, the content of `proto` in the metadata of an object schema, states about its fields, such as
 * `{ id: 1, tags: [2, "unpacked"], result: { value: 3, error: 4 } }`.
 */
export function fieldMarks(node: SchemaNode, mark: unknown): ReadonlyMap<string, FieldMark> {
  const marks = new Map<string, FieldMark>();
  if (mark === undefined) return marks;
  const refuse = (reason: string): never => {
    throw new UnmappableError(node, reason, "Correct proto in its metadata.");
  };
  const numbers = new Set<number>();
  const number = (value: unknown): number => {
    if (!isNumber(value) || !isFieldNumber(value)) return refuse(`field number ${JSON.stringify(value)}`);
    if (numbers.has(value)) return refuse(`two fields with the number ${value}`);
    numbers.add(value);
    return value;
  };
  for (const [key, entry] of Object.entries(isObject(mark) ? mark : refuse("an object with this proto"))) {
    if (isObject(entry)) {
      const arms = Object.entries(entry).map(([arm, value]) => [arm, number(value)]);
      marks.set(key, { arms: Object.fromEntries(arms) as Record<string, number> });
      continue;
    }
    const [first, word] = (Array.isArray(entry) ? entry : [entry]) as unknown[];
    const facts = { isRequired: word === "required", isUnpacked: word === "unpacked" };
    if (word !== undefined && !facts.isRequired && !facts.isUnpacked) refuse(`a field that is ${JSON.stringify(word)}`);
    marks.set(key, { number: number(first), ...facts });
  }
  return marks;
}

/** Returns the type of a field as its metadata changes it. */
export function markedType(type: FieldType, { isRequired = false, isUnpacked = false }: FieldMark = {}): FieldType {
  if (type.label === "repeated") return { ...type, isUnpacked };
  return isRequired && type.label === "implicit" ? { ...type, label: "optional" } : type;
}

/**
 * Returns the numbers of fields and of the options of oneofs.
 * @param known keys of fields and options in the schema
 */
export function numbersIn(
  node: SchemaNode,
  marks: ReadonlyMap<string, FieldMark>,
  known: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const all = Array.from(marks, ([key, { number, arms }]) =>
    arms === undefined ? [[key, number ?? 0] as const] : Object.entries(arms),
  );
  const numbers = new Map(all.flat());
  const unknown = [...numbers.keys()].find((key) => !known.has(key));
  if (unknown === undefined) return numbers;
  throw new UnmappableError(node, `a number of ${unknown}, which is not a field`, "Correct proto in its metadata.");
}

/** Returns the numbers that new fields must not get, such as `[2, [5, 9]]` in `protoReserved` of an object schema. */
export function reservedRanges(node: SchemaNode, ranges: unknown = []): NumberRange[] {
  const refuse = (): never => {
    throw new UnmappableError(node, "these reserved numbers", "Write a list such as [2, [5, 9]].");
  };
  return (Array.isArray(ranges) ? ranges : refuse()).map((each: unknown) => {
    const [first, last = first] = [each].flat();
    return isNumber(first) && isNumber(last) ? { first, last } : refuse();
  });
}
