import { type Limits, RpcError, type ServerLoad } from "@quicrpc/core";
import { createBlobId, type UploadStore } from "@quicrpc/blobs";
import type { AnyMethod } from "@quicrpc/core/generated";
import { type BlobField, fullName } from "@quicrpc/core/internal";
import { BLOB_ID } from "../../protocol/blob-messages.js";
import type { HttpExchange } from "../exchange.js";
import type { RequestBytes } from "../request-bytes.js";
import { CallBlobs, type SharedBlobs } from "./call-blobs.js";
import { answerDownload } from "./download-answer.js";
import { Downloads } from "./downloads.js";
import { MemoryUploads } from "./memory-uploads.js";
import {
  answerAppended,
  answerCreated,
  answerOffset,
  limitsOf,
  saidOfUpload,
  type UploadRules,
} from "./upload-answer.js";
import { type Requester, PendingUploads } from "./uploads.js";

const DEFAULT_AGE_MS = 3_600_000;

/** A blob field of a method, with the URL below which its blobs are. */
interface FieldRoute {
  readonly method: AnyMethod;
  readonly path: string;
  readonly input: BlobField | undefined;
  readonly output: BlobField | undefined;
}

/** The blob or field that a request's path refers to. */
export interface BlobTarget extends FieldRoute {
  /** Id of the blob; undefined if the path refers to the field, at which uploads begin. */
  readonly id: string | undefined;
}

export interface HttpBlobsSettings {
  readonly prefix: string;
  readonly limits: Limits;
  readonly load: ServerLoad;
  readonly store: UploadStore | undefined;
  readonly maxAgeMs: number | undefined;
  readonly idleMs: number;
}

/**
 * Serves the blobs of methods as HTTP resources. The URL of a field is below that of its method, and the URL of a blob
 * below that of its field.
 */
export class HttpBlobs {
  private readonly fields: Map<string, FieldRoute> = new Map();
  private readonly shared: SharedBlobs;
  private readonly rules: Omit<UploadRules, "maxBytes">;

  constructor(methods: readonly AnyMethod[], settings: HttpBlobsSettings) {
    const { prefix, limits, load, maxAgeMs = DEFAULT_AGE_MS, idleMs } = settings;
    const { store = new MemoryUploads(load, limits) } = settings;
    this.shared = {
      uploads: new PendingUploads(store, maxAgeMs, load, limits),
      downloads: new Downloads(limits.maxPrincipalBlobs),
      limits,
      prefix,
    };
    this.rules = { maxAgeMs, idleMs };
    for (const method of methods) {
      const { input = [], output = [] } = method.blobs?.fields ?? {};
      for (const { name } of [...input, ...output]) {
        const of = (fields: readonly BlobField[]): BlobField | undefined => fields.find((field) => field.name === name);
        const path = `${prefix}/${fullName(method)}/${name}`;
        this.fields.set(path, { method, path, input: of(input), output: of(output) });
      }
    }
  }

  /** Returns the blob or field that a path refers to; undefined if it refers to neither. */
  match(path: string): BlobTarget | undefined {
    if (this.fields.size === 0) return undefined;
    const field = this.fields.get(path);
    if (field !== undefined) return { ...field, id: undefined };
    const slash = path.lastIndexOf("/");
    const id = path.slice(slash + 1);
    const parent = BLOB_ID.test(id) ? this.fields.get(path.slice(0, slash)) : undefined;
    return parent && { ...parent, id };
  }

  of(method: AnyMethod, requester: Requester): CallBlobs {
    return new CallBlobs(this.shared, method, requester);
  }

  /**
   * Answers a request for a blob. Rejects with an error for which the caller sends the response.
   * @param authorize rejects if the client may not call the method; called before an upload is changed
   */
  async answer(
    exchange: HttpExchange,
    target: BlobTarget,
    requester: Requester,
    unsent: RequestBytes,
    authorize: () => Promise<void>,
  ): Promise<void> {
    const { method } = exchange;
    const { input, id } = target;
    const isRead = method === "GET" || method === "HEAD";
    if (id !== undefined && isRead && (input === undefined || method === "GET" || this.shared.downloads.has(id))) {
      const download = this.shared.downloads.find(id, fullName(target.method), requester);
      await answerDownload(exchange, download, unsent);
    } else if (input === undefined || !this.takes(method, id)) {
      const allow = [
        input && ["OPTIONS", "POST"],
        id !== undefined && ["GET", "HEAD"],
        input && id && ["PATCH", "DELETE"],
      ];
      exchange.respond({ status: 405, fields: { allow: allow.flatMap((verb) => verb || []).join(", ") } });
    } else {
      if (method !== "OPTIONS") await authorize();
      if (!exchange.isGone) await this.answerUpload(exchange, target, input, requester);
    }
  }

  private takes(method: string, id: string | undefined): boolean {
    return method === "POST" || method === "OPTIONS" || (id !== undefined && /^(HEAD|PATCH|DELETE)$/.test(method));
  }

  private async answerUpload(
    exchange: HttpExchange,
    target: BlobTarget,
    input: BlobField,
    requester: Requester,
  ): Promise<void> {
    const { uploads, limits } = this.shared;
    const maxBytes = uploads.mostOf(input.maxBytes ?? limits.maxBlobBytes);
    const rules: UploadRules = { ...this.rules, maxBytes };
    const field = `${fullName(target.method)}/${input.name}`;
    const { id = createBlobId(), path } = target;
    if (exchange.method === "OPTIONS") {
      exchange.respond({ status: 204, fields: limitsOf(rules) });
      return;
    }
    if (exchange.method === "POST") {
      const said = saidOfUpload(exchange, true, 0, maxBytes);
      const { length, type, name, sha256 } = said;
      const info = { field, principal: requester.principal, length, type, name, sha256, isComplete: false };
      const upload = await uploads.create(id, info, requester, maxBytes);
      await answerCreated(exchange, upload, `${path}/${id}`, said, rules);
      return;
    }
    const upload = await uploads.find(id, field, requester, maxBytes);
    if (exchange.method === "PATCH") await answerAppended(exchange, upload, rules);
    else if (exchange.method === "HEAD") await answerOffset(exchange, upload, rules);
    else {
      await upload.remove(new RpcError("cancelled", "the upload was cancelled"));
      exchange.respond({ status: 204, fields: {} });
    }
  }
}
