import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

const JsonObject = z.record(z.string(), z.json());

const MessageForm = z.enum(["nothing", "value", "bytes"]);

const BlobField = z.object({
  /** The field of the message. */
  name: z.string(),
  /** Bytes that its receiver takes at most. */
  maxBytes: z.int().optional(),
  /** Its receiver checks the digest of the whole blob. */
  digest: z.literal("sha-256").optional(),
  /** It goes on where it was after the loss of its session. */
  resumable: z.boolean().optional(),
});

const MethodDescription = z.object({
  name: z.string(),
  /** Its number on the wire. */
  id: z.int(),
  kind: z.enum(["unary", "notify", "server_stream", "client_stream", "duplex"]),
  idempotent: z.boolean(),
  /** Calls change nothing. */
  readOnly: z.boolean().optional(),
  /** Calls have keys, by which one that is made again does not run again. */
  once: z.boolean().optional(),
  /** Calls of it outlive the sessions that carry them. */
  resumable: z.boolean().optional(),
  /** The caller's message: one, or many where it streams. */
  takes: MessageForm,
  /** The callee's message: one, or many where it streams. */
  gives: MessageForm,
  /** Fingerprint of the method's schema; methods with equal ones understand one another. */
  fingerprint: z.int().optional(),
  /** The metadata that its schema gives the application. */
  meta: JsonObject.optional(),
  /** The fields of its messages that are blobs. */
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
  /** JSON Schema (draft 2020-12) of what the caller sends, of a stream one item. */
  input: JsonObject.optional(),
  /** The same of what the callee sends. */
  output: JsonObject.optional(),
  /** The same of the details of each declared error that has such, by the error's name. */
  errors: z.record(z.string(), JsonObject).optional(),
});

const ServiceDetails = z.object({
  docs: z.string().optional(),
  methods: z.array(MethodDetails),
  /** The shapes of its messages, as `quicrpc breaking` compares them. */
  snapshot: JsonObject,
});

/** Says what a server serves. */
export const Reflection = service("quicrpc.v1.Reflection", {
  /** Every service, by name. */
  list: rpc({ output: z.object({ services: z.array(ServiceDescription) }), readOnly: true }),
  /** Comments and JSON Schemas of a service. Fails with `not_found` where there are none, or no such service. */
  describe: rpc({ input: z.object({ service: z.string() }), output: ServiceDetails, readOnly: true }),
});
