import { existsSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type CallOptions, type Connection, createConnection, RpcError, type Session } from "@quicrpc/core";
import { createBlobId, type DescribedBlob, ReceivedBlob } from "@quicrpc/blobs";
import type { AnyMethod, BlobFields } from "@quicrpc/core/generated";
import { BlobProgress } from "./blob-progress.js";
import type { FileBlobOptions } from "@quicrpc/node";
import type { RemoteMethod } from "./find-method.js";
import { printJson, printNotice } from "./target.js";

type Caller = Pick<Session, "start">;
type Message = Readonly<Record<string, unknown>>;

interface BlobCall {
  readonly session: Session;
  /** Creates another session to the same server after the first session is lost. */
  readonly dialAnew: () => Promise<Session>;
  readonly intercepted: (caller: Session | Connection) => Caller;
  readonly remote: Pick<RemoteMethod, "method" | "toOutput">;
  /** Input of the call as JSON. Blob fields contain the source of their bytes: "@file", or "@-" for stdin. */
  readonly input: unknown;
  readonly options: CallOptions;
  /** Destinations of the blobs in the response: a folder, a file, `field=file`, or `-` for stdout. */
  readonly destinations: readonly string[];
  /** Upload id that an earlier run printed. The call continues that upload. */
  readonly uploadId: string | undefined;
  readonly signal: AbortSignal;
  /** If true, notices printed next to the response are JSON as well. */
  readonly json: boolean;
}

/**
 * Makes a call with blobs: sends files, writes the blobs of the response to files, and prints the response. If the
 * signal cancels the call, keeps the data with which a later run can continue. Rejects with `RpcError`.
 */
export async function callBlobs(call: BlobCall): Promise<void> {
  const { session, dialAnew, intercepted, options, destinations, signal, json } = call;
  const { method, toOutput } = call.remote;
  const { input: sent = [], output: answered = [] } = method.blobs?.fields ?? {};
  const targets = targetsOf(destinations, answered);
  const progress = new BlobProgress(process.stderr);
  const isResumable = [...sent, ...answered].some(({ resumable }) => resumable === true);
  let first: Session | undefined = session;
  const connection = isResumable
    ? createConnection(async () => {
        const next = first ?? (await dialAnew());
        first = undefined;
        return next;
      })
    : undefined;
  const uploads = new Uploads(sent, call.uploadId, progress, json);
  try {
    const input = await uploads.withBlobs(call.input);
    const caller = intercepted(connection ?? session);
    const output: unknown = await caller.start(method as AnyMethod<"unary">, input, options);
    uploads.done();
    await takeAnswer(output, answered, targets, progress, { toOutput, signal, json });
  } catch (error) {
    progress.end();
    uploads.advise();
    throw error;
  } finally {
    await connection?.close();
  }
}

class Uploads {
  private readonly fields: NonNullable<BlobFields["input"]>;
  private readonly upload: string | undefined;
  private readonly progress: BlobProgress;
  private readonly json: boolean;
  private readonly ids = new Map<string, string>();
  private moved = false;

  constructor(fields: NonNullable<BlobFields["input"]>, id: string | undefined, progress: BlobProgress, json: boolean) {
    this.fields = fields;
    this.upload = id;
    this.progress = progress;
    this.json = json;
  }

  /** Returns a copy of `input` in which the files replace the names in the blob fields. */
  async withBlobs(input: unknown): Promise<unknown> {
    if (typeof input !== "object" || input === null) return input;
    const completed: Record<string, unknown> = { ...input };
    const used = this.fields.filter(({ name }) => completed[name] !== undefined);
    const resumable = used.filter((field) => field.resumable === true);
    if (this.upload !== undefined && resumable.length !== 1)
      throw new RpcError("invalid_argument", "--upload-id requires a call that sends exactly one resumable blob");
    for (const { name, resumable: isNamed } of used) {
      const id = isNamed === true ? (this.upload ?? createBlobId()) : undefined;
      if (id !== undefined) this.ids.set(name, id);
      completed[name] = await this.blobOf(name, completed[name], id);
    }
    return completed;
  }

  done(): void {
    this.progress.end();
    this.ids.clear();
  }

  /** Prints the command that continues an interrupted upload. */
  advise(): void {
    const [id, ...more] = this.ids.values();
    if (!this.moved || id === undefined || more.length > 0) return;
    printNotice({ help: `the same command with --upload-id ${id} continues the upload` }, this.json);
  }

  private async blobOf(field: string, value: unknown, id: string | undefined): Promise<DescribedBlob> {
    const onProgress = (bytes: number, length: number | undefined): void => {
      this.moved = true;
      this.progress.moved(field, bytes, length);
    };
    const more = { onProgress, ...(id !== undefined && { id }) };
    if (value === "@-") return { content: process.stdin as AsyncIterable<Uint8Array>, ...more };
    return blobOfFile(field, value, more);
  }
}

/** Opens the file that a blob field names as "@file". Rejects with `RpcError` if that is not possible. */
export async function blobOfFile(field: string, value: unknown, options: FileBlobOptions = {}): Promise<DescribedBlob> {
  if (typeof value !== "string" || !value.startsWith("@"))
    throw new RpcError("invalid_argument", `${field} is a blob: pass "@file", or "@-" for stdin`);
  const { fileBlob } = await import("@quicrpc/node");
  try {
    return await fileBlob(value.slice(1), options);
  } catch (error) {
    throw new RpcError("invalid_argument", `cannot read the file of ${field}: ${(error as Error).message}`);
  }
}

/** Destination of each blob in a response, and a folder for blobs without a destination of their own. */
interface Targets {
  readonly files: ReadonlyMap<string, string>;
  readonly folder: string | undefined;
}

function targetsOf(destinations: readonly string[], fields: NonNullable<BlobFields["output"]>): Targets {
  const files = new Map<string, string>();
  let folder: string | undefined;
  for (const destination of destinations) {
    const at = destination.indexOf("=");
    const named = fields.find(({ name }) => at > 0 && name === destination.slice(0, at));
    const [only, ...otherFields] = fields;
    if (named !== undefined) files.set(named.name, destination.slice(at + 1));
    else if (isFolder(destination)) folder = destination;
    else if (only !== undefined && otherFields.length === 0) files.set(only.name, destination);
    else {
      const names = fields.map(({ name }) => `${name}=file`).join(", ");
      const remedy = names === "" ? "the answer has no blobs" : `pass an existing folder, or ${names}`;
      throw new RpcError("invalid_argument", `--out ${destination} does not name a field of the answer: ${remedy}`);
    }
  }
  return { files, folder };
}

/** Writes the blobs of a response to their destinations, and then prints the response with their paths. */
async function takeAnswer(
  output: unknown,
  fields: NonNullable<BlobFields["output"]>,
  { files, folder }: Targets,
  progress: BlobProgress,
  { toOutput, signal, json }: Pick<RemoteMethod, "toOutput"> & Pick<BlobCall, "signal" | "json">,
): Promise<void> {
  const printed: Record<string, unknown> = { ...(output as Message | undefined) };
  const unsaved: string[] = [];
  let toStdout = false;
  for (const { name, resumable = false } of fields) {
    const blob = printed[name];
    if (!(blob instanceof ReceivedBlob)) continue;
    const path = files.get(name) ?? (folder && join(folder, fileNameOf(blob.name, name)));
    const description = { bytes: blob.length, type: blob.type || undefined, name: blob.name || undefined };
    printed[name] = path === undefined ? description : { file: path, ...description };
    const onProgress = (bytes: number, length: number | undefined): void => progress.moved(name, bytes, length);
    if (path === undefined) unsaved.push(name);
    else if (path === "-") {
      toStdout = true;
      await pipeline(blob.chunks({ onProgress, signal }), process.stdout, { end: false });
    } else {
      if (!files.has(name) && existsSync(path))
        throw new RpcError("already_exists", `${path} already exists: use --out ${name}=file to replace a file`);
      const { saveBlob } = await import("@quicrpc/node");
      try {
        await saveBlob(blob, path, { resume: resumable, onProgress, signal });
      } catch (error) {
        if (error instanceof RpcError) throw error;
        throw new RpcError("failed_precondition", `${path} cannot be written: ${(error as Error).message}`);
      }
    }
    progress.end();
  }
  if (!toStdout && output !== undefined) printJson(toOutput(printed));
  if (unsaved.length > 0) {
    printNotice({ notice: `The answer's ${unsaved.join(" and ")} was not saved: use --out to save it.` }, json);
  }
}

/**
 * Returns a safe file name derived from the name that the sender gave. The result contains no path and no control
 * characters, and does not begin with a dot.
 */
function fileNameOf(senderName: string, otherwise: string): string {
  const name = basename(senderName.replaceAll("\\", "/"))
    // oxlint-disable-next-line no-control-regex -- these are what has to go
    .replaceAll(/[\u0000-\u001f\u007f-\u009f<>:"|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "_")
    .replace(/^\.+/, "")
    .replace(/[. ]+$/, "")
    .slice(0, 100);
  return name === "" ? otherwise.replaceAll(/[^\w-]/g, "_") : name;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
