import type { SchemaRoot } from "../source/schema-root.js";
import { isUint8Array } from "../types/support.js";
import { type AnySchema, childrenOf, defOf, hasTrait, isZodSchema, lazyTarget, shapeOf } from "../types/zod.js";
import { checksOf, toldOf } from "./checks.js";
import { isConstantDefault, isPrintable } from "./constant.js";
import type { CheckNode, CodecNode, NodeBody, RecordKeysNode, SchemaPath } from "./node.js";

/** Schemas that refuse a value of another type themselves, with a message of their own. */
const TOLD: ReadonlySet<string> = new Set(
  "string number bigint date boolean nil literal template object array tuple record map set union discriminated nothing never nonOptional bytes".split(
    " ",
  ),
);

/** Makes the nodes of the schemas of a file: one for each schema, wherever it is used. */
export class CodecBuilder {
  readonly #nodes = new Map<AnySchema, CodecNode>();
  readonly #exported: ReadonlyMap<unknown, SchemaRoot>;

  /** `exported` has the schemas that the schema module exports, which make for shorter paths. */
  constructor(exported: ReadonlyMap<unknown, SchemaRoot>) {
    this.#exported = exported;
  }

  /** The node of `schema`, which is found at `found`. */
  node(schema: AnySchema, found: SchemaPath): CodecNode {
    const root = this.#exported.get(schema);
    const at = root === undefined ? found : { root, keys: [] };
    const own = withoutMeta(schema);
    const target = defOf(own).type === "lazy" && checksOf(own)?.length === 0 ? lazyTarget(own) : undefined;
    if (isZodSchema(target)) return this.node(target, below(at, "_zod", "innerType"));
    const known = this.#nodes.get(own);
    if (known !== undefined) return known;
    const node: CodecNode = { schema: own, at, kind: "open" };
    this.#nodes.set(own, node);
    return Object.assign(node, this.#body(own, at));
  }

  #body(schema: AnySchema, at: SchemaPath): NodeBody {
    const checks = checksOf(schema);
    const bare = this.#structure(schema, at, checks ?? []);
    if (bare === undefined) return { kind: "external", given: this.#given(schema, at) };
    const told = TOLD.has(bare.kind) ? toldOf(defOf(schema)) : undefined;
    const body = told === undefined ? bare : { ...bare, told };
    // What makes it bytes is a check of its own.
    if (bare.kind === "bytes") return body;
    if (checks !== undefined && ("checks" in bare || checks.length === 0)) return body;
    return { kind: "refined", inner: { schema, at, ...body } };
  }

  /** Returns the node of `schema` without its checks; undefined where zod has to run it. */
  #structure(schema: AnySchema, at: SchemaPath, checks: readonly CheckNode[]): NodeBody | undefined {
    const def = defOf(schema);
    const child = (value: unknown, ...keys: (string | number)[]): CodecNode => {
      if (!isZodSchema(value))
        throw new Error(`There is no schema at ${[at.root.name, ...at.keys, ...keys].join(".")}.`);
      return this.node(value, below(at, "_zod", "def", ...keys));
    };
    if ("coerce" in def && def.coerce) return undefined;
    switch (def.type) {
      case "string":
      case "number":
      case "bigint":
      case "date":
        return { kind: def.type, checks };
      case "boolean":
      case "any":
      case "never":
        return { kind: def.type };
      case "unknown":
        return { kind: "any" };
      case "null":
        return { kind: "nil" };
      case "undefined":
      case "void":
        return { kind: "nothing" };
      case "literal":
        return { kind: "literal", values: def.values };
      case "enum":
        return { kind: "literal", values: [...(schema._zod.values ?? [])] };
      case "template_literal": {
        const { pattern } = schema._zod as { readonly pattern?: RegExp };
        return pattern === undefined ? undefined : { kind: "template", regex: pattern };
      }
      case "custom":
        return isBytes(schema) ? { kind: "bytes" } : undefined;
      case "object":
        return this.#object(schema, at, child);
      case "array":
        return { kind: "array", element: child(def.element, "element"), checks };
      case "set":
        return { kind: "set", element: child(def.valueType, "valueType"), checks };
      case "map":
        return {
          kind: "map",
          key: child(def.keyType, "keyType"),
          element: child(def.valueType, "valueType"),
          checks,
        };
      case "tuple":
        return {
          kind: "tuple",
          items: def.items.map((item, index) => child(item, "items", index)),
          rest: def.rest === null ? undefined : child(def.rest, "rest"),
        };
      case "record": {
        const keys = recordKeys(schema, child);
        return keys && { kind: "record", keys, element: child(def.valueType, "valueType") };
      }
      case "union":
        return this.#union(schema, child);
      case "intersection":
        return { kind: "intersection", left: child(def.left, "left"), right: child(def.right, "right") };
      case "optional":
        return {
          kind: hasTrait(schema, "$ZodExactOptional") ? "exactOptional" : "optional",
          inner: child(def.innerType, "innerType"),
        };
      case "nullable":
        return { kind: "nullable", inner: child(def.innerType, "innerType") };
      case "nonoptional":
        return { kind: "nonOptional", inner: child(def.innerType, "innerType") };
      case "readonly":
        return { kind: "frozen", inner: child(def.innerType, "innerType") };
      case "default":
      case "prefault": {
        const constant = isConstantDefault(def) && isPrintable(def.defaultValue);
        return {
          kind: def.type,
          inner: child(def.innerType, "innerType"),
          value: constant ? { kind: "constant", value: def.defaultValue } : { kind: "made" },
        };
      }
      case "catch": {
        const make = def.catchValue as (() => unknown) & { readonly "~constantCatch"?: boolean };
        const value = make["~constantCatch"] === true ? make() : make;
        return {
          kind: "caught",
          inner: child(def.innerType, "innerType"),
          value: isPrintable(value) ? { kind: "constant", value } : { kind: "made" },
        };
      }
      case "pipe":
        return hasTrait(schema, "$ZodCodec") ? undefined : this.#pipe(child(def.in, "in"), child(def.out, "out"));
      default:
        return undefined;
    }
  }

  #pipe(from: CodecNode, to: CodecNode): NodeBody {
    // What a function makes of a value is often the value, where that fits already.
    const isPreprocess = defOf(from.schema).type === "transform" && saysLess(to.schema);
    return { kind: "pipe", from: isPreprocess ? { ...from, kind: "external", given: to } : from, to };
  }

  /** The node of what a schema takes that zod runs whole; undefined where that is what is on the wire, as far as one can know. */
  #given(schema: AnySchema, at: SchemaPath): CodecNode | undefined {
    if (!saysLess(schema)) return undefined;
    const def = defOf(schema);
    const part = (value: unknown, ...keys: (string | number)[]): CodecNode | undefined =>
      isZodSchema(value) ? this.node(value, below(at, "_zod", ...keys)) : undefined;
    const node = (body: NodeBody): CodecNode => ({ schema, at, ...body });
    switch (def.type) {
      case "bigint":
        return node({ kind: "bigint", checks: [] });
      case "lazy":
        return part(lazyTarget(schema), "innerType");
      case "pipe":
        return part(def.in, "def", "in");
      case "record": {
        const element = part(def.valueType, "def", "valueType");
        return element && node({ kind: "record", keys: { kind: "any" }, element });
      }
      case "union": {
        const options = def.options.flatMap((option, index) => part(option, "def", "options", index) ?? []);
        return node({ kind: "union", options });
      }
      default:
        return undefined;
    }
  }

  #object(
    schema: AnySchema,
    at: SchemaPath,
    child: (value: unknown, ...keys: string[]) => CodecNode,
  ): NodeBody | undefined {
    const def = defOf(schema);
    if (def.type !== "object") return undefined;
    const shape = shapeOf(schema);
    if (shape.has("__proto__")) return undefined;
    const fields = [...shape].map(([name, field]) => {
      if (!isZodSchema(field)) throw new Error(`The field ${name} is no schema.`);
      return { name, node: this.node(field, below(at, "shape", name)) };
    });
    const { catchall } = def;
    if (catchall === undefined) return { kind: "object", fields, others: "strip" };
    const { type, checks } = defOf(catchall);
    const plain = checks === undefined || checks.length === 0;
    const others = type === "never" ? "strict" : plain && (type === "any" || type === "unknown") ? "loose" : undefined;
    return { kind: "object", fields, others: others ?? child(catchall, "catchall") };
  }

  #union(schema: AnySchema, child: (value: unknown, ...keys: (string | number)[]) => CodecNode): NodeBody | undefined {
    const def = defOf(schema) as ReturnType<typeof defOf> & {
      readonly options: readonly AnySchema[];
      readonly discriminator?: string;
      readonly unionFallback?: boolean;
      readonly inclusive?: boolean;
    };
    const { discriminator } = def;
    if (discriminator === undefined) {
      if (def.inclusive === false) return undefined;
      return { kind: "union", options: def.options.map((option, index) => child(option, "options", index)) };
    }
    if (def.unionFallback === true) return undefined;
    const seen = new Set<unknown>();
    const options = def.options.map((option, index) => {
      const values = [...(option._zod.propValues?.[discriminator] ?? [])] as unknown[];
      return { values, node: child(option, "options", index) };
    });
    for (const value of options.flatMap((option) => option.values)) {
      if (seen.has(value) || !isPrintable(value)) return undefined;
      seen.add(value);
    }
    return { kind: "discriminated", key: discriminator, options };
  }
}

function below(at: SchemaPath, ...keys: (string | number)[]): SchemaPath {
  return { root: at.root, keys: [...at.keys, ...keys] };
}

/** The schema that `.describe()` or `.meta()` copied, or `schema` itself. */
function withoutMeta(schema: AnySchema): AnySchema {
  const { parent } = schema._zod as { readonly parent?: unknown };
  if (!isZodSchema(parent)) return schema;
  return defOf(parent) === defOf(schema) ? withoutMeta(parent) : schema;
}

/** `z.instanceof(Uint8Array)`, which says by its class what it takes. */
function isBytes(schema: AnySchema): boolean {
  const { Class } = schema._zod.bag as { readonly Class?: unknown };
  return Class !== undefined && isUint8Array(schema) && (defOf(schema).checks ?? []).length === 0;
}

function recordKeys(
  schema: AnySchema,
  child: (value: unknown, ...keys: string[]) => CodecNode,
): RecordKeysNode | undefined {
  const def = defOf(schema);
  if (def.type !== "record" || (def as { readonly mode?: string }).mode === "loose") return undefined;
  const fit = child(def.keyType, "keyType");
  const names = def.keyType._zod.values === undefined ? undefined : [...def.keyType._zod.values];
  if (names !== undefined) {
    const isPlain = fit.kind === "literal" && names.every((name) => typeof name === "string" && name !== "__proto__");
    if (!isPlain) return undefined;
    return { kind: def.partial === true ? "among" : "exactly", names: names as string[], fit };
  }
  return fit.kind === "string" && fit.checks.length === 0 ? { kind: "any" } : { kind: "fit", fit };
}

/** Whether the wire says less than a value of `schema`: it has bigints, maps or sets somewhere. */
function saysLess(schema: AnySchema, seen: Set<AnySchema> = new Set()): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  return (
    ["bigint", "map", "set"].includes(defOf(schema).type) ||
    childrenOf(schema).some((child) => isZodSchema(child.schema) && saysLess(child.schema, seen))
  );
}
