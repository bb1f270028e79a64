import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { RpcError } from "@quicrpc/core";
import type { Journal, LogEntry } from "@quicrpc/core/transport";

/** The first line of a file, beside which it has a line `[number, topic, id or null, base64]` for each message. */
interface Head {
  readonly quicrpcTopics: 1;
  readonly life: string;
  /** All numbers up to this one are taken. */
  readonly last: number;
}

/**
 * Numbers that each start leaves out. A machine that loses its power may lose the last lines, whose positions subscribers have: no other messages may
 * get them.
 */
const SKIPPED = 1_000_000;
/** Bytes that are appended at least before the file is written anew without what is no longer kept. */
const REWRITE_BYTES = 1024 * 1024;

/** The messages of topics with history in a file, to which each is appended. One process at a time may have it. */
export class TopicJournal implements Journal {
  readonly life: string;
  readonly entries: (readonly [number, LogEntry])[];
  readonly last: number;
  private readonly path: string;
  private file: number;
  /** Bytes of the file, and what they were when it was last written anew. */
  private bytes = 0;
  private rewrittenBytes = 0;

  /** Opens the file, or makes it and its folder. Throws where it is something else. */
  constructor(path: string) {
    this.path = path;
    mkdirSync(dirname(path), { recursive: true });
    const { head, entries } = read(path);
    this.life = head.life;
    this.entries = entries;
    this.last = Math.max(head.last, entries.at(-1)?.[0] ?? 0) + SKIPPED;
    this.file = this.rewrite(this.last, entries);
  }

  append(number: number, entry: LogEntry, kept: ReadonlyMap<number, LogEntry>): void {
    const line = lineOf([number, entry]);
    try {
      if (this.bytes > 2 * this.rewrittenBytes + REWRITE_BYTES) {
        closeSync(this.file);
        this.file = this.rewrite(number - 1, kept);
      }
      for (let written = 0; written < line.length; ) written += writeSync(this.file, line, written);
      this.bytes += line.length;
    } catch (cause) {
      throw this.failed(cause);
    }
  }

  close(): void {
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  /** Writes the file anew: it is there as it was, or whole. Returns it, open for what follows. */
  private rewrite(last: number, entries: Iterable<readonly [number, LogEntry]>): number {
    const head: Head = { quicrpcTopics: 1, life: this.life, last };
    const content = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...Array.from(entries, lineOf)]);
    const partial = `${this.path}.part`;
    writeFileSync(partial, content, { mode: 0o600 });
    renameSync(partial, this.path);
    this.bytes = content.length;
    this.rewrittenBytes = content.length;
    return openSync(this.path, "a");
  }

  /** A part of a line may have been written, which another must not follow. */
  private failed(cause: unknown): RpcError {
    try {
      ftruncateSync(this.file, this.bytes);
    } catch {
      // The file is closed, or its disk is gone: what is appended next fails as well.
    }
    return new RpcError("unavailable", "the history of topics could not be written to its file", { cause });
  }
}

function read(path: string): { head: Head; entries: (readonly [number, LogEntry])[] } {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { head: { quicrpcTopics: 1, life: randomUUID().replaceAll("-", ""), last: 0 }, entries: [] };
  }
  const [first = "", ...lines] = text.split("\n");
  // The last line has no end where its process ended while it was written.
  lines.pop();
  try {
    const head = JSON.parse(first) as Partial<Head>;
    if (head.quicrpcTopics !== 1) throw new TypeError("it does not begin as one");
    return { head: head as Head, entries: lines.map(entryOf) };
  } catch (cause) {
    throw new Error(`${path} is no file of topics: ${String(cause)}`, { cause });
  }
}

function lineOf([number, { topic, id, bytes }]: readonly [number, LogEntry]): Buffer {
  return Buffer.from(`${JSON.stringify([number, topic, id ?? null, Buffer.from(bytes).toString("base64")])}\n`);
}

function entryOf(line: string): [number, LogEntry] {
  const [number, topic, id, bytes] = JSON.parse(line) as [number, string, string | null, string];
  return [number, { topic, id: id ?? undefined, bytes: Buffer.from(bytes, "base64") }];
}
