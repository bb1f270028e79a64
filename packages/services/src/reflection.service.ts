import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

const JsonObject = z.record(z.string(), z.json());

const MessageForm = z.enum(["nothing", "value", "bytes"]);

const BlobField = z.object({
  /** The name of the field. */
  name: z.string(),
  /** Maximum number of bytes that the receiver accepts. */
  maxBytes: z.int().optional(),
  /** The receiver checks the digest of the whole blob. */
  digest: z.literal("sha-256").optional(),
  /** The transfer continues after the loss of its session. */
  resumable: z.boolean().optional(),
});

const MethodDescription = z.object({
  name: z.string(),
  /** Its number on the wire. */
  id: z.int(),
  kind: z.enum(["unary", "notify", "server_stream", "client_stream", "duplex"]),
  idempotent: z.boolean(),
  /** Calls have no side effects. */
  readOnly: z.boolean().optional(),
  /** Calls have keys, so that a repeated call does not run again. */
  once: z.boolean().optional(),
  /** Calls outlive the sessions that carry them. */
  resumable: z.boolean().optional(),
  /** The caller's message, or each item if the caller streams. */
  takes: MessageForm,
  /** The callee's message, or each item if the callee streams. */
  gives: MessageForm,
  /** Fingerprint of the method's schema; equal fingerprints mean compatible methods. */
  fingerprint: z.int().optional(),
  /** Metadata for the application, as given in the schema. */
  meta: JsonObject.optional(),
  /** Fields of its messages that are blobs. */
  blobs: z.object({ input: z.array(BlobField).optional(), output: z.array(BlobField).optional() }).optional(),
});

const ServiceDescription = z.object({
  name: z.string(),
  /** Its number on the wire. */
  id: z.int(),
  methods: z.array(MethodDescription),
});

const MethodDetails = z.object({
  name: z.string(),
  docs: z.string().optional(),
  /** JSON Schema (draft 2020-12) of the caller's message, or of one item if the caller streams. */
  input: JsonObject.optional(),
  /** JSON Schema of the callee's message, or of one item if the callee streams. */
  output: JsonObject.optional(),
  /** JSON Schemas of the details of declared errors, by the error's name. */
  errors: z.record(z.string(), JsonObject).optional(),
});

const ServiceDetails = z.object({
  docs: z.string().optional(),
  methods: z.array(MethodDetails),
  /** Shapes of its messages, as compared by `quicrpc breaking`. */
  snapshot: JsonObject,
});

/** Lists and describes the services of a server. */
export const Reflection = service("quicrpc.v1.Reflection", {
  /** Lists every service, sorted by name. */
  list: rpc({ output: z.object({ services: z.array(ServiceDescription) }), readOnly: true }),
  /**
   * Returns comments and JSON Schemas of a service. Fails with `not_found` if there is no such service, or if it has no
   * details.
   */
  describe: rpc({ input: z.object({ service: z.string() }), output: ServiceDetails, readOnly: true }),
});
