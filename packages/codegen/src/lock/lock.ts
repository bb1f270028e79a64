import { fullName, methodName, packageAndPath, packageNameOf, payloadName } from "../proto/model.js";
import { elementName, typeName } from "../proto/names.js";
import { compareText } from "../shape/canonical.js";

/**
 * Contents of `quicrpc.lock.json`: the permanent ids of methods, and the numbers of protobuf fields. The file has one
 * line for each method and message, sorted, so that branches which add some can be merged. Removed methods and fields
 * stay in it, and their ids and numbers are never reused.
 */
export interface Lock {
  /** Methods with their ids, by `service/method`. */
  readonly methods: ReadonlyMap<string, LockedMethod>;
  /** Numbers of protobuf fields and enum values, by the full name of the message or enum. */
  readonly messages: ReadonlyMap<string, LockedNumbers>;
}

/** Protobuf numbers of the fields of a message, or of the values of an enum. */
export interface LockedNumbers {
  readonly kind: "fields" | "values";
  /** Numbers in use, by key in the schema. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Keys that had a number which is no longer used, by that number. */
  readonly removed: ReadonlyMap<number, string>;
}

/** A method in the lock file. */
export interface LockedMethod {
  readonly serviceId: number;
  readonly methodId: number;
  /** Fingerprint of the method's messages: eight hexadecimal digits. */
  readonly fingerprint: string;
  /** True if the method was removed; its id stays reserved. */
  readonly removed: boolean;
}

export const EMPTY_LOCK: Lock = { methods: new Map(), messages: new Map() };

/** Returns the service part of a key `service/method`. */
export function serviceOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

function methodOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** Returns the text of the lock file. */
export function formatLock(lock: Lock): string {
  const lines = [...lock.methods]
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, { serviceId, methodId, fingerprint, removed }]) => {
      const gone = removed ? `, "removed": true` : "";
      return `    ${JSON.stringify(key)}: { "id": [${serviceId}, ${methodId}], "fingerprint": "${fingerprint}"${gone} }`;
    });
  if (lock.messages.size === 0) return `{\n  "version": 1,\n  "methods": {\n${lines.join(",\n")}\n  }\n}\n`;
  const messages = [...lock.messages]
    .sort(([a], [b]) => compareText(a, b))
    .map(([name, { kind, numbers, removed }]) => {
      const gone = removed.size === 0 ? "" : `, "removed": ${tableText(removed)}`;
      return `    ${JSON.stringify(name)}: { "${kind}": ${tableText(numbers)}${gone} }`;
    });
  return `{\n  "version": 2,\n  "methods": {\n${lines.join(",\n")}\n  },\n  "messages": {\n${messages.join(",\n")}\n  }\n}\n`;
}

function tableText(table: ReadonlyMap<string | number, string | number>): string {
  const numberOf = ([key, value]: readonly [string | number, string | number]): number =>
    typeof key === "number" ? key : Number(value);
  const entries = [...table].sort((a, b) => numberOf(a) - numberOf(b));
  const text = entries.map(([key, value]) => `${JSON.stringify(String(key))}: ${JSON.stringify(value)}`).join(", ");
  return text === "" ? "{}" : `{ ${text} }`;
}

/**
 * Returns a lock in which `from` has the name `to` and keeps its ids and numbers. The names may be those of a method
 * (`service/method`), a service, a protobuf message or enum, or a field (`message.field`). Throws `RangeError` if
 * renaming is not possible.
 */
export function renameLocked(lock: Lock, from: string, to: string): Lock {
  const isMethod = from.includes("/");
  const owner = isMethod ? undefined : [...lock.messages].find(([name, { numbers }]) => numbers.has(keyIn(name, from)));
  if (owner !== undefined) return { ...lock, messages: withField(lock.messages, owner, from, to) };
  if (lock.messages.has(from)) return { ...lock, messages: withType(lock.messages, from, to) };
  if (isMethod !== to.includes("/")) throw new RangeError(`${from} and ${to} are not both methods or both services.`);
  if (isMethod && serviceOf(from) !== serviceOf(to)) {
    throw new RangeError("A method cannot move to another service: its id is that of its service and its own.");
  }
  const renamed = new Map<string, string>();
  for (const [key, { removed }] of lock.methods) {
    if (isMethod ? key === from : serviceOf(key) === from)
      renamed.set(key, isMethod ? to : to + key.slice(from.length));
    const taken = isMethod ? key === to : serviceOf(key) === to;
    if (taken && !removed) throw new RangeError(`${to} is in the lock already.`);
    if (taken) throw new RangeError(`${to} is in the lock as removed, and its id is reserved. Use another name.`);
  }
  if (renamed.size === 0) throw new RangeError(`${from} is not in the lock.`);
  let messages = isMethod ? lock.messages : withPackage(lock, packageNameOf(from), packageNameOf(to));
  for (const [before, after] of renamed) {
    for (const role of ["Request", "Response"] as const) {
      const [old, now] = [before, after].map((key) => payloadName(serviceOf(key), methodName(methodOf(key)), role));
      if (old !== undefined && now !== undefined && messages.has(old)) messages = withType(messages, old, now);
    }
  }
  return { methods: new Map([...lock.methods].map(([key, value]) => [renamed.get(key) ?? key, value])), messages };
}

type Messages = Lock["messages"];

/** Renames a message or enum, and the types nested in it. */
function withType(messages: Messages, from: string, to: string): Messages {
  if (messages.has(to)) throw new RangeError(`${to} is in the lock already.`);
  const renamed = (name: string): string =>
    name === from || name.startsWith(`${from}.`) ? to + name.slice(from.length) : name;
  return new Map([...messages].map(([name, value]) => [renamed(name), value]));
}

function withField(messages: Messages, [name, own]: [string, LockedNumbers], from: string, to: string): Messages {
  const [old, now] = [keyIn(name, from), keyIn(name, to)];
  if (now === "") throw new RangeError(`A field cannot move to another message, so ${to} has to begin with ${name}.`);
  if (own.numbers.has(now)) throw new RangeError(`${to} is in the lock already.`);
  const numbers = new Map([...own.numbers].map(([key, number]) => [key === old ? now : key, number]));
  const [before, after] = [own.numbers, numbers].map((each) => [...each.keys()]);
  const words = [
    [elementName(old, before ?? []), elementName(now, after ?? [])],
    [typeName(old), typeName(now)],
  ] as const;
  let all: Messages = new Map([...messages, [name, { ...own, numbers }]]);
  // Types nested in a message have names that begin with the name of a field.
  for (const nested of messages.keys()) {
    const type = keyIn(name, nested);
    const isOther = [...own.numbers.keys()].some((key) => key !== old && typeName(key) === type);
    const word = words.find(([word]) => type.startsWith(word) && NESTED.test(type.slice(word.length)));
    if (isOther || word === undefined) continue;
    const renamed = `${name}.${word[1]}${type.slice(word[0].length)}`;
    if (renamed !== nested) all = withType(all, nested, renamed);
  }
  return all;
}

/**
 * Matches what may follow a field's name in the name of a nested type: nothing for the type of the field, otherwise the
 * suffix of a wrapper message.
 */
const NESTED = /^(?:Key|Value)?(?:List|OrNull|Item|Pair)?$/;

/**
 * Copies the numbers of types that several services may use from the package `from` to the package `to`, because both
 * may need them. Does not change types that `to` already has.
 */
function withPackage({ messages, methods }: Lock, from: string, to: string): Messages {
  if (from === to) return messages;
  const payloads = new Set(
    [...methods.keys()].flatMap((key) =>
      (["Request", "Response"] as const).map((role) => payloadName(serviceOf(key), methodName(methodOf(key)), role)),
    ),
  );
  const isShared = (name: string): boolean =>
    packageAndPath(name)[0] === from && !payloads.has(fullName(from, packageAndPath(name)[1].split(".").slice(0, 1)));
  const shared = [...messages].filter(([name]) => isShared(name));
  return new Map([
    ...shared.map(([name, numbers]) => [fullName(to, [packageAndPath(name)[1]]), numbers] as const),
    ...messages,
  ]);
}

/** Returns the field's key in `field`, whose form is `message.key`; empty if the field does not belong to `message`. */
function keyIn(message: string, field: string): string {
  return field.startsWith(`${message}.`) ? field.slice(message.length + 1) : "";
}
