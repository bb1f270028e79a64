import {
  closeSync,
  constants,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
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
/** Bytes of the new file that one message writes at least, beside its own: it holds up its process no longer than for these. */
const STEP_BYTES = 65_536;
const { O_APPEND, O_CREAT, O_TRUNC, O_WRONLY } = constants;

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
  private rewrite: Rewrite | undefined = undefined;

  /** Opens the file, or makes it and its folder. Throws where it is something else. */
  constructor(path: string) {
    this.path = path;
    mkdirSync(dirname(path), { recursive: true });
    const { head, entries } = read(path);
    this.life = head.life;
    this.entries = entries;
    this.last = Math.max(head.last, entries.at(-1)?.[0] ?? 0) + SKIPPED;
    this.rewrite = this.begin(this.last, entries);
    this.rewrite.advance(Number.POSITIVE_INFINITY);
    this.file = this.replace(this.rewrite);
  }

  append(number: number, entry: LogEntry, kept: ReadonlyMap<number, LogEntry>): void {
    const line = lineOf([number, entry]);
    try {
      if (this.bytes > 2 * this.rewrittenBytes + REWRITE_BYTES) this.rewrite ??= this.begin(number - 1, kept);
      // Twice what is appended: it comes to its end, however fast that goes.
      if (this.rewrite?.advance(Math.max(STEP_BYTES, 2 * line.length)) === true) {
        closeSync(this.file);
        this.file = this.replace(this.rewrite);
      }
      writeAll(this.file, line);
      this.bytes += line.length;
    } catch (cause) {
      throw this.failed(cause);
    }
  }

  close(): void {
    this.abandon();
    if (this.file >= 0) closeSync(this.file);
    this.file = -1;
  }

  private begin(last: number, entries: Iterable<readonly [number, LogEntry]>): Rewrite {
    return new Rewrite(`${this.path}.part`, { quicrpcTopics: 1, life: this.life, last }, entries);
  }

  /** Puts a whole file in the place of the one before. Returns it, open for what follows. */
  private replace({ path, file, bytes }: Rewrite): number {
    renameSync(path, this.path);
    this.rewrite = undefined;
    this.bytes = bytes;
    this.rewrittenBytes = bytes;
    return file;
  }

  private abandon(): void {
    const { rewrite } = this;
    if (rewrite === undefined) return;
    this.rewrite = undefined;
    closeSync(rewrite.file);
    rmSync(rewrite.path, { force: true });
  }

  /** A part of a line may have been written, which another must not follow. */
  private failed(cause: unknown): RpcError {
    try {
      this.abandon();
      ftruncateSync(this.file, this.bytes);
    } catch {
      // The file is closed, or its disk is gone: what is appended next fails as well.
    }
    return new RpcError("unavailable", "the history of topics could not be written to its file", { cause });
  }
}

/**
 * The file as it is written anew beside the one that it replaces: a little with each message that is appended there. `entries` may grow and shrink
 * meanwhile: what comes is written as well, since an iterator of a map finds it.
 */
class Rewrite {
  readonly path: string;
  readonly file: number;
  bytes = 0;
  private readonly entries: Iterator<readonly [number, LogEntry]>;

  constructor(path: string, head: Head, entries: Iterable<readonly [number, LogEntry]>) {
    this.path = path;
    this.entries = entries[Symbol.iterator]();
    this.file = openSync(path, O_APPEND | O_CREAT | O_TRUNC | O_WRONLY, 0o600);
    this.write([Buffer.from(`${JSON.stringify(head)}\n`)]);
  }

  /** Writes about so many bytes more. Returns whether the file is whole: then nothing may be appended to the other before this one is in its place. */
  advance(bytes: number): boolean {
    let lines: Buffer[] = [];
    let size = 0;
    for (let left = bytes; left > 0; ) {
      const { done, value } = this.entries.next();
      if (done === true) {
        this.write(lines);
        return true;
      }
      const line = lineOf(value);
      lines.push(line);
      left -= line.length;
      size += line.length;
      if (size < STEP_BYTES) continue;
      this.write(lines);
      lines = [];
      size = 0;
    }
    this.write(lines);
    return false;
  }

  private write(lines: readonly Buffer[]): void {
    const bytes = Buffer.concat(lines);
    writeAll(this.file, bytes);
    this.bytes += bytes.length;
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
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
  const names = JSON.stringify([number, topic, id ?? null]).slice(0, -1);
  return Buffer.from(`${names},"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")}"]\n`);
}

function entryOf(line: string): [number, LogEntry] {
  const [number, topic, id, bytes] = JSON.parse(line) as [number, string, string | null, string];
  return [number, { topic, id: id ?? undefined, bytes: Buffer.from(bytes, "base64") }];
}
