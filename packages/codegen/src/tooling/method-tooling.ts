import type { MethodTooling } from "@quicrpc/core/generated";
import type { FoundMethod } from "../discover.js";
import type { MethodShape, PayloadPart } from "../methods.js";
import { type Direction, isZodSchema } from "../types/zod.js";
import type { JsonSchemas } from "./json-schema.js";
import type { JsonSchema } from "./keywords.js";

/** Returns the description of a method for tools: its documentation and the JSON Schemas of its messages. */
export function toolingOf(
  method: FoundMethod,
  { input, output, errors }: MethodShape,
  schemas: JsonSchemas,
): MethodTooling {
  const schema = (part: PayloadPart | undefined, role: Direction = "output"): JsonSchema | undefined =>
    part !== undefined && isZodSchema(part.schema) ? schemas.of(part.schema, role) : undefined;
  const [taken, given] = [schema(input, "input"), schema(output)];
  const details = errors.flatMap((error) => {
    const made = schema(error.details);
    return made === undefined ? [] : [[error.name, made] as const];
  });
  return {
    ...(method.docs === undefined ? {} : { docs: method.docs }),
    ...(taken === undefined ? {} : { input: taken }),
    ...(given === undefined ? {} : { output: given }),
    ...(details.length === 0 ? {} : { errors: Object.fromEntries(details) }),
  };
}
