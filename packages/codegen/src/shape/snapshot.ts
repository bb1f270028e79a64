import { type CursorOption, itemCursor } from "@quicrpc/core/internal";
import type { FoundMethod } from "../discover.js";
import type { ErrorShape, MethodShape, PayloadPart } from "../methods.js";
import { methodName, rpcName } from "../proto/model.js";
import { nodeOf } from "../schema/read.js";
import { type Direction, isZodSchema } from "../types/zod.js";
import { compareText } from "./canonical.js";
import { ShapeBuilder, type ShapeName } from "./of-schema.js";
import {
  type ErrorSnapshot,
  type MethodSnapshot,
  type SchemaSnapshot,
  type ServiceSnapshot,
  SNAPSHOT_VERSION,
  type Shape,
  SHAPE_FORMAT,
} from "./shape.js";

export function snapshotOf(
  id: number,
  methods: readonly FoundMethod[],
  shapes: ReadonlyMap<FoundMethod, MethodShape>,
  methodIds: ReadonlyMap<string, number>,
  name: ShapeName,
): ServiceSnapshot {
  const builder = new ShapeBuilder(name);
  const snapshots: Record<string, MethodSnapshot> = {};
  for (const method of methods) {
    const shape = shapes.get(method);
    const methodId = methodIds.get(method.name);
    if (shape === undefined || methodId === undefined) continue;
    const { kind, input, output, errors } = shape;
    const { idempotent, readOnly, once, delivery, cursor } = method.schema as {
      readonly idempotent?: unknown;
      readonly readOnly?: unknown;
      readonly once?: unknown;
      readonly delivery?: string;
      readonly cursor?: CursorOption;
    };
    const shapeOf = (schema: unknown, direction: Direction): Shape =>
      isZodSchema(schema) ? builder.shape(nodeOf(schema), direction) : { kind: "any" };
    const message = (part: PayloadPart | undefined, direction: Direction): Shape | undefined =>
      part?.raw ? { kind: "raw" } : part && shapeOf(part.schema, direction);
    const taken = message(input, "input");
    const sent = message(output, "input");
    const received = message(output, "output");
    const rpc = rpcName(method.name, method.schema.meta);
    snapshots[method.name] = {
      id: methodId,
      kind,
      ...(idempotent === true ? { idempotent } : {}),
      ...(readOnly === true ? { readOnly } : {}),
      ...(once === true ? { once } : {}),
      ...(delivery === undefined ? {} : { delivery }),
      ...(rpc === methodName(method.name) ? {} : { proto: rpc }),
      ...(cursor === undefined ? {} : { cursor: itemCursor(cursor) }),
      ...(taken === undefined ? {} : { input: taken }),
      ...(sent === undefined ? {} : { output: sent }),
      ...(received === undefined || sameText(sent, received) ? {} : { result: received }),
      ...(errors.length === 0 ? {} : { errors: errorSnapshots(errors, message) }),
    };
  }
  return { format: SHAPE_FORMAT, id, methods: snapshots, types: builder.types };
}

function errorSnapshots(
  errors: readonly ErrorShape[],
  message: (part: PayloadPart | undefined, direction: Direction) => Shape | undefined,
): Record<string, ErrorSnapshot> {
  return Object.fromEntries(
    errors.map(({ name, code, details }) => {
      const shape = message(details, "input");
      return [name, { code, ...(shape === undefined ? {} : { details: shape }) }];
    }),
  );
}

function sameText(a: Shape | undefined, b: Shape): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * Returns the text of a snapshot file. It is sorted and has one line for each method and type, so that one change
 * affects one line.
 */
export function formatSnapshot(snapshot: SchemaSnapshot): string {
  const services = sorted(snapshot.services).map(([name, { format, id, methods, types, proto }]) =>
    [
      `    ${JSON.stringify(name)}: {`,
      ...(format === undefined ? [] : [`      "format": ${format},`]),
      `      "id": ${id},`,
      `      "methods": ${lines(methods)},`,
      `      "types": ${lines(types)}${proto === undefined ? "" : ","}`,
      ...(proto === undefined ? [] : [`      "proto": ${lines(proto)}`]),
      "    }",
    ].join("\n"),
  );
  return `{\n  "version": ${SNAPSHOT_VERSION},\n  "services": {\n${services.join(",\n")}\n  }\n}\n`;
}

function lines(table: Readonly<Record<string, unknown>>): string {
  const entries = sorted(table).map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return entries.length === 0 ? "{}" : `{\n${entries.join(",\n")}\n      }`;
}

function sorted<Value>(table: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(table).sort(([a], [b]) => compareText(a, b));
}

/** Parses the text of a snapshot file. Throws `SyntaxError` if it is malformed. */
export function parseSnapshot(text: string): SchemaSnapshot {
  const value = JSON.parse(text) as Partial<SchemaSnapshot> | null;
  if (typeof value !== "object" || value === null || typeof value.services !== "object") {
    throw new SyntaxError("it is not a schema snapshot");
  }
  if (value.version !== SNAPSHOT_VERSION)
    throw new SyntaxError(`its version is ${String(value.version)}, and this is version ${SNAPSHOT_VERSION}`);
  return value as SchemaSnapshot;
}
