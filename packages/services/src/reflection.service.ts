import { rpc, service } from "@quicrpc/core";
import { z } from "zod";

const MessageForm = z.enum(["nothing", "value", "bytes"]);

const MethodDescription = z.object({
  name: z.string(),
  /** Its number on the wire. */
  id: z.int(),
  kind: z.enum(["unary", "notify", "server_stream", "client_stream", "duplex"]),
  idempotent: z.boolean(),
  /** What the caller sends: one, or many where it streams. */
  takes: MessageForm,
  /** What the callee answers with. */
  gives: MessageForm,
  /** Of the method's schema; methods with equal fingerprints understand one another. */
  fingerprint: z.int().optional(),
});

const ServiceDescription = z.object({
  name: z.string(),
  /** Its number on the wire. */
  id: z.int(),
  methods: z.array(MethodDescription),
});

/** Says what a server serves. */
export const Reflection = service("quicrpc.v1.Reflection", {
  /** Every service, by name. */
  list: rpc({ output: z.object({ services: z.array(ServiceDescription) }), idempotent: true }),
});
