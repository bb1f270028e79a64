import { fullName, packageAndPath, packageNameOf, payloadName } from "../proto/model.js";
import { elementName, typeName } from "../proto/names.js";
import { compareText } from "../shape/canonical.js";

/**
 * `quicrpc.lock.json`: the permanent ids of methods on the wire, and the numbers of fields in protobuf. It has one
 * sorted line per method and per message, so that branches that add some can be merged. What is removed stays in it, and
 * its ids and numbers are never reused.
 */
export interface Lock {
  /** Ids of methods by `service/method`. */
  readonly methods: ReadonlyMap<string, LockedMethod>;
  /** Numbers of the fields of messages and of the values of enums in protobuf, by the type's full name. */
  readonly messages: ReadonlyMap<string, LockedNumbers>;
}

/** The numbers of a message or an enum. */
export interface LockedNumbers {
  readonly kind: "fields" | "values";
  /** Numbers by key in the schema. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Keys of numbers that are no longer used. */
  readonly removed: ReadonlyMap<number, string>;
}

/** A line of the lock file. */
export interface LockedMethod {
  readonly serviceId: number;
  readonly methodId: number;
  /** Eight hexadecimal digits. */
  readonly fingerprint: string;
  /** True if the method was removed; its id stays reserved. */
  readonly removed: boolean;
}

export const EMPTY_LOCK: Lock = { methods: new Map(), messages: new Map() };

/** Returns the service in a key `service/method`. */
export function serviceOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

function methodOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** Formats the lock as a file. */
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

/** Formats a table in the order of its numbers. */
function tableText(table: ReadonlyMap<string | number, string | number>): string {
  const numberOf = ([key, value]: readonly [string | number, string | number]): number =>
    typeof key === "number" ? key : Number(value);
  const entries = [...table].sort((a, b) => numberOf(a) - numberOf(b));
  const text = entries.map(([key, value]) => `${JSON.stringify(String(key))}: ${JSON.stringify(value)}`).join(", ");
  return text === "" ? "{}" : `{ ${text} }`;
}

/**
 * Renames a method (`service/method`), a service, a message or enum of protobuf, or a field (`message.field`) from
 * `from` to `to`, and keeps its ids and numbers. Throws `RangeError` if it cannot.
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
      const [old, now] = [before, after].map((key) => payloadName(serviceOf(key), methodOf(key), role));
      if (old !== undefined && now !== undefined && messages.has(old)) messages = withType(messages, old, now);
    }
  }
  return { methods: new Map([...lock.methods].map(([key, value]) => [renamed.get(key) ?? key, value])), messages };
}

type Messages = Lock["messages"];

/** Renames a message or an enum, with the types inside it. */
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
  // Types inside the message are named after the field.
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

/** Ends of the names of types inside a message, after the name of the field: none for its own type, or that of a wrapper. */
const NESTED = /^(?:Key|Value)?(?:List|OrNull|Item|Pair)?$/;

/**
 * Gives types that several services may use the same numbers in the package `to` as in `from`: both may need them. Types
 * that `to` has stay unchanged.
 */
function withPackage({ messages, methods }: Lock, from: string, to: string): Messages {
  if (from === to) return messages;
  const payloads = new Set(
    [...methods.keys()].flatMap((key) =>
      (["Request", "Response"] as const).map((role) => payloadName(serviceOf(key), methodOf(key), role)),
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

/** Returns the key of a field `message.key`; empty if it is not one of `message`. */
function keyIn(message: string, field: string): string {
  return field.startsWith(`${message}.`) ? field.slice(message.length + 1) : "";
}
