/** A JSON value. */
export type RecordedJson =
  | null
  | boolean
  | number
  | string
  | readonly RecordedJson[]
  | { readonly [name: string]: RecordedJson };

/** Key of objects that represent values outside JSON. The object's other key is the type. */
const MARK = "$";

/**
 * Converts a message to JSON without loss, except for members that are undefined. Throws `TypeError` for values that a
 * message cannot contain, such as a function.
 */
export function toJson(value: unknown): RecordedJson {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : marked("number", Object.is(value, -0) ? "-0" : String(value));
    case "bigint":
      return marked("bigint", String(value));
    case "undefined":
      return marked("undefined", null);
    case "object":
      return value === null ? null : objectToJson(value);
    default:
      throw new TypeError(`a recording cannot contain a ${typeof value}`);
  }
}

function objectToJson(value: object): RecordedJson {
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Date) return marked("date", Number.isNaN(value.getTime()) ? null : value.toISOString());
  if (value instanceof Uint8Array)
    return marked("bytes", Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"));
  if (value instanceof Map)
    return marked(
      "map",
      Array.from(value, (pair: unknown[]) => pair.map(toJson)),
    );
  if (value instanceof Set) return marked("set", Array.from(value, toJson));
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const made = Object.fromEntries(members.map(([name, member]) => [name, toJson(member)]));
  return Object.hasOwn(made, MARK) ? marked("object", made) : made;
}

function marked(type: string, value: RecordedJson): RecordedJson {
  return { [MARK]: type, value };
}

/** Reverses `toJson`. Throws `TypeError` for JSON that `toJson` cannot have written. */
export function fromJson(json: RecordedJson): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return (json as readonly RecordedJson[]).map(fromJson);
  const object = json as { readonly [name: string]: RecordedJson };
  if (!Object.hasOwn(object, MARK)) return membersOf(object);
  const value = object["value"] as never;
  switch (object[MARK]) {
    case "number":
    case "bigint":
      return object[MARK] === "number" ? Number(value) : BigInt(value);
    case "undefined":
      return undefined;
    case "date":
      return new Date(value ?? Number.NaN);
    case "bytes":
      return new Uint8Array(Buffer.from(value, "base64"));
    case "map":
      return new Map(
        (value as readonly [RecordedJson, RecordedJson][]).map(([key, item]) => [fromJson(key), fromJson(item)]),
      );
    case "set":
      return new Set((value as readonly RecordedJson[]).map(fromJson));
    case "object":
      return membersOf(value);
    default:
      throw new TypeError(`a recording has no values of type ${JSON.stringify(object[MARK])}`);
  }
}

function membersOf(object: { readonly [name: string]: RecordedJson }): unknown {
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [name, fromJson(member)]));
}

/** Returns a text that is equal for equal values, regardless of the order of members. */
export function canonicalText(json: RecordedJson): string {
  return JSON.stringify(json, (_, value: RecordedJson) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
