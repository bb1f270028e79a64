import type { MethodTooling } from "@quicrpc/core/generated";
import type { FoundMethod } from "../discover.js";
import type { MethodShape, PayloadPart } from "../methods.js";
import { isZodSchema } from "../types/zod.js";
import { type JsonSchema, jsonSchemaOf } from "./json-schema.js";

/** What tools are told of a method. */
export function toolingOf(method: FoundMethod, { input, output }: MethodShape): MethodTooling {
  const schema = (part: PayloadPart | undefined): JsonSchema | undefined =>
    part !== undefined && isZodSchema(part.schema) ? jsonSchemaOf(part.schema) : undefined;
  const [taken, given] = [schema(input), schema(output)];
  return {
    ...(method.docs === undefined ? {} : { docs: method.docs }),
    ...(taken === undefined ? {} : { input: taken }),
    ...(given === undefined ? {} : { output: given }),
  };
}
