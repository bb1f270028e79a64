import type { Diagnostic } from "../diagnostics.js";
import { isFieldNumber } from "../proto/numbers.js";
import type { LockedNumbers } from "./lock.js";

const TABLE = String.raw`\{(?:[^{}"]|"(?:[^"\\\n]|\\.)*")*\}`;
/** Matches the line of a message or enum in a lock file. */
export const MESSAGE: RegExp = new RegExp(
  String.raw`"([\w.]+)"\s*:\s*(\{\s*"(?:fields|values)"\s*:\s*${TABLE}(?:\s*,\s*"removed"\s*:\s*${TABLE})?\s*\})`,
  "g",
);
const NUMBER = /"((?:[^"\\\n]|\\.)*)"\s*:\s*(-?[\d.]+(?:[eE][-+]?\d+)?)/g;
const REMOVED = /"(-?\d+)"\s*:\s*"((?:[^"\\\n]|\\.)*)"/g;

type Problem = Pick<Diagnostic, "code" | "message" | "help"> & { readonly index: number };

/** The lines of one message. A merge of branches may have left two of them. */
interface Lines {
  readonly indexes: number[];
  readonly kind: LockedNumbers["kind"];
  readonly used: [key: string, number: number][];
  readonly gone: [key: string, number: number][];
}

/** Reads the protobuf numbers of messages and enums from the text of a lock file. */
export function readMessages(text: string): {
  readonly messages: ReadonlyMap<string, LockedNumbers>;
  readonly problems: readonly Problem[];
} {
  const problems: Problem[] = [];
  const found = new Map<string, Lines>();
  for (const { 1: name = "", 2: body = "", index } of text.matchAll(MESSAGE)) {
    if (!isEntry(body)) {
      const message = `The entry of ${name} cannot be read.`;
      problems.push({ index, code: "lock-invalid", message, help: "Restore the line from version control." });
      continue;
    }
    const kind = /^\{\s*"fields"/.test(body) ? "fields" : "values";
    const lines = found.get(name) ?? { indexes: [], kind, used: [], gone: [] };
    found.set(name, lines);
    lines.indexes.push(index);
    // Pairs are parsed one by one, because `JSON.parse` hides repeated keys.
    for (const [, key, number] of body.matchAll(NUMBER)) lines.used.push([textOf(key), Number(number)]);
    for (const [, number, key] of body.matchAll(REMOVED)) lines.gone.push([textOf(key), Number(number)]);
  }
  const messages = new Map<string, LockedNumbers>();
  for (const [name, { indexes, kind, used, gone }] of found) {
    const numbers = new Map(used);
    const removed = gone.filter(([key, number]) => numbers.get(key) !== number);
    messages.set(name, { kind, numbers, removed: new Map(removed.map(([key, number]) => [number, key])) });
    const clash = clashIn(used, removed);
    if (clash === undefined) continue;
    const others = indexes.slice(0, -1).map((index) => ` (and line ${text.slice(0, index).split("\n").length})`);
    problems.push({
      index: indexes.at(-1) ?? 0,
      code: "lock-clash",
      message: `In ${name}${others.join("")}, ${clash}, as when two branches each added one.`,
      help: "Delete the one that is not released yet from the line, and run quicrpc gen, which gives it a free number.",
    });
  }
  return { messages, problems };
}

/** Returns a description of a number with two keys, or a key with two numbers; undefined if there is none. */
function clashIn(used: Lines["used"], removed: Lines["gone"]): string | undefined {
  const keys = new Map<number, string>();
  const numbers = new Map<string, number>();
  for (const [key, number] of [...removed, ...used]) {
    const other = keys.get(number);
    if (other !== undefined && other !== key) return `${other} and ${key} both have number ${number}`;
    keys.set(number, key);
  }
  for (const [key, number] of used) {
    const other = numbers.get(key);
    if (other !== undefined && other !== number) return `${key} has the numbers ${other} and ${number}`;
    numbers.set(key, number);
  }
  return undefined;
}

function textOf(escaped = ""): string {
  return JSON.parse(`"${escaped}"`) as string;
}

function isEntry(body: string): boolean {
  try {
    const { fields, values, removed = {} } = JSON.parse(body) as Record<string, object | undefined>;
    const isNumber = fields === undefined ? isValueNumber : isFieldNumber;
    return (
      Object.values(fields ?? values ?? {}).every((number) => isNumber(number)) &&
      Object.entries(removed).every(
        ([number, key]) => /^-?\d+$/.test(number) && isNumber(Number(number)) && typeof key === "string",
      )
    );
  } catch {
    return false;
  }
}

function isValueNumber(number: unknown): boolean {
  return Number.isInteger(number) && Math.abs(Number(number)) < 2 ** 31;
}
