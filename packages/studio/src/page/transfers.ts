import { RpcError } from "@quicrpc/core";
import { ReceivedBlob } from "@quicrpc/blobs";

/**
 * Maximum size in bytes of a blob that the page stores in memory before saving it. If the browser supports it, larger
 * blobs are written to disk as they arrive.
 */
const MAX_HELD = 256 * 1024 * 1024;

/** Description that replaces a blob's bytes in a displayed message. */
interface ShownBlob {
  readonly bytes: number | undefined;
  readonly type: string;
  readonly name: string;
}

/** Transfer of one blob of a call. */
export interface Transfer {
  readonly field: string;
  readonly name: string;
  readonly direction: "up" | "down";
  readonly length: number | undefined;
  bytes: number;
  status: "waiting" | "running" | "done" | "failed";
  problem: string | undefined;
  /** Aborts the download. Undefined unless a download is in progress. */
  stop: AbortController | undefined;
  /** The received blob. Undefined for a blob that the call sends. */
  readonly blob: ReceivedBlob | undefined;
}

/** Returns the transfer of a file that a call sends. */
export function upload(field: string, file: File): Transfer {
  return { ...newTransfer(field, "up", file.name, file.size), blob: undefined };
}

/** Returns the transfer of a blob in an output. It starts when the user requests it. */
export function download(field: string, blob: ReceivedBlob): Transfer {
  return { ...newTransfer(field, "down", fileName(blob.name) || field, blob.length), blob };
}

function newTransfer(
  field: string,
  direction: Transfer["direction"],
  name: string,
  length: number | undefined,
): Omit<Transfer, "blob"> {
  return { field, name, direction, length, bytes: 0, status: "waiting", problem: undefined, stop: undefined };
}

/** Returns a copy of `response` in which descriptions replace the blobs, together with these blobs. */
export function withoutBlobs(response: unknown): {
  readonly printed: unknown;
  readonly blobs: readonly [field: string, blob: ReceivedBlob][];
} {
  if (typeof response !== "object" || response === null) return { printed: response, blobs: [] };
  const blobs = Object.entries(response).filter(
    (entry): entry is [string, ReceivedBlob] => entry[1] instanceof ReceivedBlob,
  );
  if (blobs.length === 0) return { printed: response, blobs };
  const described = blobs.map(([field, { length, type, name }]) => [
    field,
    { bytes: length, type, name } satisfies ShownBlob,
  ]);
  return { printed: { ...response, ...Object.fromEntries(described) }, blobs };
}

/** Downloads a blob of an output to a file. Never rejects: the result is stored in the transfer. */
export async function save(transfer: Transfer, changed: () => void): Promise<void> {
  const { blob } = transfer;
  if (blob === undefined || transfer.status === "running") return;
  const stop = new AbortController();
  Object.assign(transfer, { stop, bytes: 0, status: "running", problem: undefined });
  changed();
  const onProgress = (bytes: number): void => {
    transfer.bytes = bytes;
    changed();
  };
  try {
    const options = { onProgress, signal: stop.signal };
    const isLong = blob.length === undefined || blob.length > MAX_HELD;
    const picker = (globalThis as { showSaveFilePicker?: SavePicker }).showSaveFilePicker;
    if (isLong && picker !== undefined) {
      const file = await picker({ suggestedName: transfer.name });
      await blob.stream(options).pipeTo(await file.createWritable());
    } else downloadBlob(await collected(blob, options), transfer.name);
    transfer.status = "done";
  } catch (error) {
    transfer.status = "failed";
    transfer.problem = stop.signal.aborted ? "cancelled" : RpcError.from(error).message;
  }
  transfer.stop = undefined;
  changed();
}

type SavePicker = (options: {
  readonly suggestedName: string;
}) => Promise<{ createWritable(): Promise<WritableStream<Uint8Array>> }>;

async function collected(blob: ReceivedBlob, options: Parameters<ReceivedBlob["chunks"]>[0]): Promise<Blob> {
  const parts: BlobPart[] = [];
  let size = 0;
  for await (const chunk of blob.chunks(options)) {
    size += chunk.length;
    if (size > MAX_HELD)
      throw new RpcError(
        "resource_exhausted",
        `a page of this browser holds ${MAX_HELD} bytes at most: take it by quicrpc call --out`,
      );
    parts.push(chunk);
  }
  // The sender's media type is not used, so that the browser cannot run the content.
  return new Blob(parts, { type: "application/octet-stream" });
}

function downloadBlob(blob: Blob, name: string): void {
  const href = URL.createObjectURL(blob);
  const link = Object.assign(document.createElement("a"), { href, download: name });
  link.click();
  // The browser has started to read the URL by then.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** Returns the last part of the file name that the sender has stated. */
function fileName(senderName: string): string {
  return senderName.split(/[\\/]/).at(-1) ?? "";
}
