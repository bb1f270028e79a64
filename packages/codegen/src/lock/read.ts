import { type Diagnostic, placeAt } from "../diagnostics.js";
import { type Lock, type LockedMethod, serviceOf } from "./lock.js";
import { MESSAGE, readMessages } from "./read-messages.js";

/** Parses the lock file `file`, whose content is `text`. Reports errors, and returns undefined if there are any. */
export function readLock(text: string, file: string, report: (diagnostic: Diagnostic) => void): Lock | undefined {
  const place = (line: number): Pick<Diagnostic, "file" | "line" | "column" | "frame"> => {
    const code = text.split(/\r?\n/)[line - 1] ?? "";
    const column = code.search(/\S/) + 1;
    return placeAt(file, text, line, Math.max(1, column), code.trim().length);
  };
  const conflict = text.split(/\r?\n/).findIndex((line) => /^(<{7}|={7}|>{7}|\|{7})( |$)/.test(line));
  if (conflict >= 0) {
    report({
      ...place(conflict + 1),
      code: "lock-conflict",
      message: "The lock file has the markers of a merge conflict.",
      help: "Keep the lines of both sides, delete the markers, and run quicrpc gen: it puts commas and order right, and says when ids clash.",
    });
    return undefined;
  }
  const entries: Entry[] = [];
  let failed = false;
  const fail = (diagnostic: Diagnostic): void => {
    failed = true;
    report(diagnostic);
  };
  const version = /"version"\s*:\s*(\d+)/.exec(text)?.[1];
  if (version !== "1" && version !== "2") {
    fail({
      file,
      code: "lock-invalid",
      message:
        version === undefined ? "This is not a lock file." : `This lock file is of version ${version}, not 1 or 2.`,
      help: version === undefined ? RESTORE : "Use a newer quicrpc.",
    });
    return undefined;
  }
  const lineAt = (index: number): number => text.slice(0, index).split("\n").length;
  const { messages, problems } = readMessages(text);
  for (const { index, ...problem } of problems) fail({ ...place(lineAt(index)), ...problem });
  // Entries are parsed one by one, because a comma may be missing after a merge, and `JSON.parse` hides repeated keys.
  for (const match of text.matchAll(ENTRY)) {
    const [, key = "", body = ""] = match;
    const line = lineAt(match.index);
    const value = entryOf(body);
    if (value === undefined) {
      fail({
        ...place(line),
        code: "lock-invalid",
        message: `The entry of ${key} cannot be read.`,
        help: "Restore the line from version control.",
      });
    } else {
      entries.push({ key, line, method: value });
    }
  }
  if (!failed && !isFrame(text)) {
    const line = withoutEntries(text)
      .split("\n")
      .findIndex((each) => !FRAME_LINE.test(each));
    fail({
      ...(line < 0 ? { file } : place(line + 1)),
      code: "lock-invalid",
      message: line < 0 ? "The lock file is not complete." : "This is not a line of a lock file.",
      help: RESTORE,
    });
  }
  for (const clash of clashes(entries)) fail({ ...place(clash.line), ...clash.problem });
  return failed ? undefined : { methods: new Map(entries.map(({ key, method }) => [key, method])), messages };
}

const ENTRY = /"([^"\n]+\/[^"\n]+)"\s*:\s*(\{[^{}]*\}?)/g;
/** Matches a line of the lock file that is not an entry. */
const FRAME_LINE = /^[\s{},]*(?:"version"\s*:\s*[12][\s,]*)?(?:"(?:methods|messages)"\s*:)?[\s{},]*$/;
const RESTORE =
  "Restore it from version control: without it methods get other ids, and calls of released clients reach other methods.";

/** Returns the text without its entries. The number of lines stays the same. */
function withoutEntries(text: string): string {
  const blank = (entry: string): string => entry.replaceAll(/[^\n]/g, "");
  return text.replaceAll(MESSAGE, blank).replaceAll(ENTRY, blank);
}

/** Returns true if the text without its entries is a complete lock file, apart from commas. */
function isFrame(text: string): boolean {
  const frame = withoutEntries(text).replaceAll(/,(?=[\s,]*\})|(?<=\{\s*),/g, "");
  try {
    const { version, methods, messages = {}, ...others } = JSON.parse(frame) as Record<string, unknown>;
    const isEmpty = [methods, messages, others].every((table) => JSON.stringify(table) === "{}");
    return (version === 1 || version === 2) && isEmpty;
  } catch {
    return false;
  }
}

interface Entry {
  readonly key: string;
  readonly line: number;
  readonly method: LockedMethod;
}

function entryOf(body: string): LockedMethod | undefined {
  try {
    const { id, fingerprint, removed } = JSON.parse(body) as Record<string, unknown>;
    if (!Array.isArray(id) || typeof fingerprint !== "string") return undefined;
    const [serviceId, methodId] = id as unknown[];
    return isId(serviceId, 0xffff) && isId(methodId, 0x3fff)
      ? { serviceId, methodId, fingerprint, removed: removed === true }
      : undefined;
  } catch {
    return undefined;
  }
}

function isId(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most;
}

/** Yields errors for ids and names that occur twice, which two branches may have assigned independently. */
function* clashes(
  entries: readonly Entry[],
): Generator<{ readonly line: number; readonly problem: Pick<Diagnostic, "code" | "message" | "help"> }> {
  const keys = new Map<string, Entry>();
  const ids = new Map<string, Entry>();
  const services = new Map<string, Entry>();
  const serviceIds = new Map<number, Entry>();
  const free = "delete the line of the one that is not released yet, and run quicrpc gen, which gives it a free id";
  for (const entry of entries) {
    const { key, line } = entry;
    const { serviceId, methodId } = entry.method;
    const service = serviceOf(key);
    const same = keys.get(key);
    if (same !== undefined && (same.method.serviceId !== serviceId || same.method.methodId !== methodId)) {
      yield {
        line,
        problem: {
          code: "lock-clash",
          message: `${key} has two lines with different ids, this and line ${same.line}.`,
          help: "Keep the line that is released, or the smaller id if neither is, and delete the other.",
        },
      };
    }
    const other = ids.get(`${service} ${methodId}`);
    if (other !== undefined && other.key !== key) {
      yield {
        line,
        problem: {
          code: "lock-clash",
          message: `${key} and ${other.key} (line ${other.line}) both have id ${methodId}, as when two branches each added a method.`,
          help: `Each id is given once: ${free}.`,
        },
      };
    }
    const sibling = services.get(service);
    if (sibling !== undefined && sibling.method.serviceId !== serviceId) {
      yield {
        line,
        problem: {
          code: "lock-clash",
          message: `${service} has two ids, ${serviceId} here and ${sibling.method.serviceId} in line ${sibling.line}.`,
          help: "Write the released one in all lines of the service.",
        },
      };
    }
    const neighbour = serviceIds.get(serviceId);
    if (neighbour !== undefined && serviceOf(neighbour.key) !== service) {
      yield {
        line,
        problem: {
          code: "lock-clash",
          message: `${service} and ${serviceOf(neighbour.key)} (line ${neighbour.line}) both have the service id ${serviceId}.`,
          help: "Give one of them another name, and delete its lines.",
        },
      };
    } else {
      serviceIds.set(serviceId, entry);
    }
    keys.set(key, entry);
    ids.set(`${service} ${methodId}`, entry);
    if (sibling === undefined) services.set(service, entry);
  }
}
