import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** A message of any type: its fields, and "@type" with its name. */
const AnyMessage = z.record(z.string(), z.json());

const Header = z.object({ name: z.string().optional(), value: z.array(z.string()).optional() });

const ErrorDefinition = z.object({
  code: z.string().optional(),
  message: z.string().optional(),
  details: z.array(AnyMessage).optional(),
});

/** How a call with one answer ends. */
const UnaryResponseDefinition = z.object({
  responseHeaders: z.array(Header).optional(),
  responseData: z.instanceof(Uint8Array).optional(),
  error: ErrorDefinition.optional(),
  responseTrailers: z.array(Header).optional(),
  responseDelayMs: z.int().optional(),
  rawResponse: AnyMessage.optional(),
});

/** How a call with a stream of answers ends. */
const StreamResponseDefinition = z.object({
  responseHeaders: z.array(Header).optional(),
  responseData: z.array(z.instanceof(Uint8Array)).optional(),
  responseDelayMs: z.int().optional(),
  rawResponse: AnyMessage.optional(),
  error: ErrorDefinition.optional(),
  responseTrailers: z.array(Header).optional(),
});

const UnaryRequest = z.object({
  responseDefinition: UnaryResponseDefinition.optional(),
  requestData: z.instanceof(Uint8Array).optional(),
});

const StreamRequest = z.object({
  responseDefinition: StreamResponseDefinition.optional(),
  fullDuplex: z.boolean().optional(),
  requestData: z.instanceof(Uint8Array).optional(),
});

const RequestInfo = z.object({
  requestHeaders: z.array(Header).optional(),
  /** An integer of 64 bits. */
  timeoutMs: z.bigint().optional(),
  requests: z.array(AnyMessage).optional(),
  connectGetInfo: z.object({ queryParams: z.array(Header).optional() }).optional(),
});

const Answer = z.object({
  payload: z.object({ data: z.instanceof(Uint8Array).optional(), requestInfo: RequestInfo.optional() }).optional(),
});

/** The service that the suite calls, in the JSON of Protocol Buffers. Its methods have the names of theirs. */
export const Conformance = service("connectrpc.conformance.v1.ConformanceService", {
  Unary: rpc({ input: UnaryRequest, output: Answer }),
  IdempotentUnary: rpc({ input: UnaryRequest, output: Answer, readOnly: true }),
  ServerStream: rpc({ input: StreamRequest, output: stream(Answer) }),
  ClientStream: rpc({ input: stream(UnaryRequest), output: Answer }),
  BidiStream: rpc({ input: stream(StreamRequest), output: stream(Answer) }),
  Unimplemented: rpc({ input: z.object({}), output: z.object({}) }),
});
