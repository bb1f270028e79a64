import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

/** Names of properties and indexes of elements, from the outermost value inwards. */
const Path = z.array(z.union([z.string().max(128), z.int().nonnegative()])).max(16);

const Source = z.object({
  /** Index of an earlier step, whose response has the value. Absent: the element for which the step runs. */
  step: z.int().nonnegative().optional(),
  /** Where the value is in the response or the element. */
  path: Path,
});

const Reference = z.object({
  /** Where the value belongs in the input. */
  at: Path,
  from: Source,
});

const Step = z.object({
  /** Name of a unary method, as "service/method". */
  method: z.string().max(256),
  /** The encoded input in standard MessagePack, if it has no references. */
  message: z.instanceof(Uint8Array).optional(),
  /** The input with null in the places of references, in the codec `json`. */
  template: z.instanceof(Uint8Array).optional(),
  references: z.array(Reference).max(64).optional(),
  /** A list: the step runs for each of its elements. */
  each: Source.optional(),
  /** The response is only for later steps. */
  silent: z.boolean().optional(),
});

const Plan = z.object({
  /** Version of the format: 1. */
  version: z.int(),
  steps: z.array(Step).min(1).max(1024),
  /** Answers have the times of their calls, if the server permits it. Each call has an answer then, also of silent steps. */
  timed: z.boolean().optional(),
});

const Failure = z.object({
  code: z.string(),
  message: z.string(),
  /** Name of a declared error of the method. */
  reason: z.string().optional(),
  /** The encoded details in standard MessagePack. */
  details: z.instanceof(Uint8Array).optional(),
});

const Answer = z.object({
  step: z.int().nonnegative(),
  /** Number of elements of a step with `each`. Precedes the answers of the elements. */
  elements: z.int().nonnegative().optional(),
  /** Index of the element to which the answer belongs. */
  element: z.int().nonnegative().optional(),
  /** The encoded response in standard MessagePack. */
  message: z.instanceof(Uint8Array).optional(),
  failure: Failure.optional(),
  /** When the call started, in microseconds since the start of the batch. */
  startedUs: z.int().nonnegative().optional(),
  /** How long the call took, in microseconds. */
  tookUs: z.int().nonnegative().optional(),
});

const Answers = z.object({ answers: z.array(Answer) });

/** Makes several calls in one round trip. */
export const Batch = service("quicrpc.v1.Batch", {
  /**
   * Makes the calls of a plan. Each item has the answers of calls that are over. Everybody may call it, because
   * permission is checked for each call of the plan.
   */
  run: rpc({ input: Plan, output: stream(Answers), meta: { auth: "public" } }),
});
