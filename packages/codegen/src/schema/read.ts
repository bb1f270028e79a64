import type { SchemaRoot } from "../source/schema-root.js";
import { bytesClass } from "../types/support.js";
import { type AnySchema, defOf, hasTrait, isZodSchema, lazyTarget, metaOf, objectFields } from "../types/zod.js";
import { readChecks, toldOf, wordsOf } from "./checks.js";
import { isConstantDefault, isPrintable } from "./constant.js";
import type { CheckNode, NodeBody, SchemaNode, SchemaPath } from "./node.js";

/** Kinds of schemas that may have a custom error message for a value of the wrong type. */
const TOLD: ReadonlySet<string> = new Set(
  "string number bigint date boolean null literal template object array tuple record map set union discriminated undefined never nonOptional bytes".split(
    " ",
  ),
);

/**
 * Which copies of a schema have nodes of their own: only copies made by checks, or also copies made by descriptions.
 */
type Copies = "checked" | "described";

/** Converts zod schemas to nodes. All uses of a schema share one node. */
export class SchemaReader {
  readonly #nodes = new WeakMap<AnySchema, SchemaNode>();
  readonly #exported: ReadonlyMap<unknown, SchemaRoot>;
  readonly #copies: Copies;

  /**
   * @param exported schemas that the module exports, to which paths can be shorter
   * @param copies "described" for readers that need the description at each use of a schema
   */
  constructor(exported: ReadonlyMap<unknown, SchemaRoot> = new Map(), copies: Copies = "checked") {
    this.#exported = exported;
    this.#copies = copies;
  }

  /**
   * Returns the node of the zod schema `schema`, whose path is `found`. Also accepts values that are not schemas,
   * because some are not validated yet.
   */
  node(schema: AnySchema, found?: SchemaPath): SchemaNode {
    if (!isZodSchema(schema)) return notASchema(schema);
    const root = this.#exported.get(schema);
    const at = root === undefined ? found : { root, keys: [] };
    const own = this.#copies === "checked" ? withoutMeta(schema) : schema;
    const known = this.#nodes.get(own);
    if (known !== undefined) return known;
    const isPlain = this.#copies === "checked" && defOf(own).type === "lazy" && readChecks(own).length === 0;
    const target = isPlain ? lazyTarget(own) : undefined;
    if (isZodSchema(target)) return this.node(target, below(at, "_zod", "innerType"));
    const node = this.#make(own, at, { kind: "open" });
    this.#nodes.set(own, node);
    return Object.assign(node, this.#body(own, at));
  }

  #make<Body extends NodeBody>(schema: AnySchema, at: SchemaPath | undefined, body: Body): SchemaNode & Body {
    const originOf = (): SchemaNode | undefined => {
      const { parent } = schema._zod as { readonly parent?: unknown };
      const origin = defOf(schema).type === "lazy" ? lazyTarget(schema) : parent;
      return isZodSchema(origin) ? this.node(origin) : undefined;
    };
    const facts = {
      schema,
      type: defOf(schema).type,
      at,
      // A getter, because the schema inside a lazy one may not exist yet.
      get optin() {
        return schema._zod.optin;
      },
      get optout() {
        return schema._zod.optout;
      },
      get meta() {
        return metaOf(schema);
      },
      get origin() {
        return originOf();
      },
    };
    return Object.assign(facts, body) as unknown as SchemaNode & Body;
  }

  #body(schema: AnySchema, at: SchemaPath | undefined): NodeBody {
    const original = withoutMeta(schema);
    if (original !== schema) return { kind: "refined", inner: this.node(original, at), checks: [] };
    const checks = readChecks(schema);
    const [bare, isWhole] = this.#structure(schema, at, checks);
    if (bare.kind === "refined") return bare;
    const told = TOLD.has(bare.kind) ? toldOf(defOf(schema)) : undefined;
    const body = told === undefined ? bare : { ...bare, told };
    const refine = (inner: NodeBody): NodeBody => ({ kind: "refined", inner: this.#make(schema, at, inner), checks });
    const hasChecks = "checks" in body;
    if (isWhole) {
      const structure = hasChecks || checks.length === 0 ? body : refine(body);
      const coerces = (defOf(schema) as { readonly coerce?: boolean }).coerce === true;
      return { kind: "external", structure: this.#make(schema, at, structure), coerces };
    }
    if (checks.length === 0 || (hasChecks && !checks.some(({ opaque }) => opaque))) return body;
    if (!hasChecks) return refine(body);
    // zod checks sizes before the elements.
    const other = checks.findIndex(({ kind }) => !kind.endsWith("Size"));
    const bounds = other < 0 ? checks : checks.slice(0, other);
    return refine({ ...body, checks: "element" in body ? bounds : [] });
  }

  /** Returns the structure of a zod schema without its checks, and whether zod must run it. */
  #structure(
    schema: AnySchema,
    at: SchemaPath | undefined,
    checks: readonly CheckNode[],
  ): readonly [body: NodeBody, isWhole: boolean] {
    const def = defOf(schema);
    const child = (value: unknown, ...keys: (string | number)[]): SchemaNode =>
      this.node(value as AnySchema, below(at, "_zod", "def", ...keys));
    const known = (body: NodeBody): readonly [NodeBody, boolean] => [body, false];
    const whole = (body: NodeBody): readonly [NodeBody, boolean] => [body, true];
    switch (def.type) {
      case "string":
      case "number":
      case "bigint":
      case "date":
        return [{ kind: def.type, checks }, "coerce" in def && def.coerce];
      case "boolean":
        return [{ kind: "boolean" }, "coerce" in def && def.coerce];
      case "null":
      case "any":
      case "never":
        return known({ kind: def.type });
      case "unknown":
        return known({ kind: "any" });
      case "undefined":
      case "void":
        return known({ kind: "undefined" });
      case "literal":
        return known({ kind: "literal", values: def.values });
      case "nan":
        return known({ kind: "literal", values: [Number.NaN] });
      case "enum":
        return known({ kind: "literal", values: [...(schema._zod.values ?? [])], entries: def.entries });
      case "template_literal": {
        const { pattern } = schema._zod as { readonly pattern?: RegExp };
        const parts = def.parts.map((part, index) =>
          isZodSchema(part) ? child(part, "parts", index) : part === undefined ? "" : String(part),
        );
        return [{ kind: "template", regex: pattern ?? /(?:)/, parts }, pattern === undefined];
      }
      case "custom": {
        const name = bytesClass(schema);
        if (name === undefined) return whole({ kind: "custom" });
        const isPlain = name === "Uint8Array";
        return [
          { kind: "bytes", view: isPlain ? undefined : name },
          isPlain && (!isClass(schema) || checks.length > 0),
        ];
      }
      case "object":
        return this.#object(schema, at, child);
      case "array":
        return known({ kind: "array", element: child(def.element, "element"), checks });
      case "set":
        return known({ kind: "set", element: child(def.valueType, "valueType"), checks });
      case "map":
        return known({
          kind: "map",
          key: child(def.keyType, "keyType"),
          element: child(def.valueType, "valueType"),
          checks,
        });
      case "tuple":
        return known({
          kind: "tuple",
          items: def.items.map((item, index) => child(item, "items", index)),
          rest: def.rest ? child(def.rest, "rest") : undefined,
        });
      case "record":
        return recordOf(schema, child);
      case "union":
        return unionOf(schema, child);
      case "intersection":
        return known({ kind: "intersection", left: child(def.left, "left"), right: child(def.right, "right") });
      case "optional": {
        const kind = hasTrait(schema, "$ZodExactOptional") ? "exactOptional" : "optional";
        return known({ kind, inner: child(def.innerType, "innerType") });
      }
      case "nullable":
        return known({ kind: "nullable", inner: child(def.innerType, "innerType") });
      case "nonoptional":
        return known({ kind: "nonOptional", inner: child(def.innerType, "innerType") });
      case "readonly":
        return known({ kind: "frozen", inner: child(def.innerType, "innerType") });
      case "success":
        return whole({ kind: "success", inner: child(def.innerType, "innerType") });
      case "default":
      case "prefault":
        return known({
          kind: def.type,
          inner: child(def.innerType, "innerType"),
          value: () => def.defaultValue,
          isConstant: isConstantDefault(def),
        });
      case "catch": {
        const make = def.catchValue as ((refused: object) => unknown) & { readonly "~constantCatch"?: boolean };
        const isConstant = make["~constantCatch"] === true;
        return known({ kind: "caught", inner: child(def.innerType, "innerType"), value: make, isConstant });
      }
      case "pipe": {
        const from = child(def.in, "in");
        const words = wordsOf(schema);
        return [
          {
            kind: "pipe",
            from: words === undefined ? from : this.#make(from.schema, from.at, { kind: "string", checks: [words] }),
            to: child(def.out, "out"),
            preprocesses: hasTrait(schema, "$ZodPreprocess"),
          },
          hasTrait(schema, "$ZodCodec"),
        ];
      }
      case "lazy":
        // The schema has checks or a description.
        return known({
          kind: "refined",
          inner: this.node(lazyTarget(schema) as AnySchema, below(at, "_zod", "innerType")),
          checks,
        });
      case "transform":
        return whole({ kind: "transform" });
      default:
        return whole({ kind: "other" });
    }
  }

  #object(
    schema: AnySchema,
    at: SchemaPath | undefined,
    child: (value: unknown, ...keys: string[]) => SchemaNode,
  ): readonly [body: NodeBody, isWhole: boolean] {
    const shape = objectFields(schema);
    const fields = Object.fromEntries(
      Array.from(shape, ([name, field]) => [name, this.node(field as AnySchema, below(at, "shape", name))]),
    );
    const { catchall } = defOf(schema) as { readonly catchall?: AnySchema };
    const others =
      catchall === undefined ? "strip" : defOf(catchall).type === "never" ? "strict" : child(catchall, "catchall");
    return [{ kind: "object", fields, others }, shape.has("__proto__")];
  }
}

let nodes = new SchemaReader(undefined, "described");

/** Returns the node of a zod schema, without a path. Throws the exception of a getter in the schema. */
export function nodeOf(schema: AnySchema): SchemaNode {
  try {
    return nodes.node(schema);
  } catch (error) {
    // After an exception, the nodes around the failed one are incomplete.
    nodes = new SchemaReader(undefined, "described");
    throw error;
  }
}

function notASchema(schema: never): SchemaNode {
  return {
    schema,
    type: "",
    at: undefined,
    optin: undefined,
    optout: undefined,
    meta: {},
    origin: undefined,
    kind: "other",
  };
}

function below(at: SchemaPath | undefined, ...keys: (string | number)[]): SchemaPath | undefined {
  return at && { root: at.root, keys: [...at.keys, ...keys] };
}

function withoutMeta(schema: AnySchema): AnySchema {
  const { parent } = schema._zod as { readonly parent?: unknown };
  if (!isZodSchema(parent)) return schema;
  return defOf(parent) === defOf(schema) ? withoutMeta(parent) : schema;
}

/** Returns true if `z.instanceof` has created a schema. Its class determines which values it accepts. */
function isClass(schema: AnySchema): boolean {
  return (schema._zod.bag as { readonly Class?: unknown }).Class !== undefined;
}

function recordOf(
  schema: AnySchema,
  child: (value: unknown, ...keys: string[]) => SchemaNode,
): readonly [body: NodeBody, isWhole: boolean] {
  const def = defOf(schema) as Extract<ReturnType<typeof defOf>, { type: "record" }> & { readonly mode?: string };
  const key = child(def.keyType, "keyType");
  const loose = def.mode === "loose";
  const partial = def.partial === true;
  const values = isZodSchema(def.keyType) ? def.keyType._zod.values : undefined;
  const names = values && [...values];
  const body = (keys: object): NodeBody => ({
    kind: "record",
    keys: { ...keys, fit: key },
    element: child(def.valueType, "valueType"),
    partial,
    loose,
  });
  if (names === undefined) return [body({}), loose];
  const isPlain = key.kind === "literal" && names.every((name) => typeof name === "string" && name !== "__proto__");
  return [body({ [partial ? "among" : "exactly"]: names.map(String) }), loose || !isPlain];
}

function unionOf(
  schema: AnySchema,
  child: (value: unknown, ...keys: (string | number)[]) => SchemaNode,
): readonly [body: NodeBody, isWhole: boolean] {
  const def = defOf(schema) as ReturnType<typeof defOf> & {
    readonly options: readonly AnySchema[];
    readonly discriminator?: string;
    readonly unionFallback?: boolean;
    readonly inclusive?: boolean;
  };
  const { discriminator } = def;
  const exclusive = def.inclusive === false;
  const nodes = def.options.map((option, index) => child(option, "options", index));
  const union: NodeBody = { kind: "union", options: nodes, exclusive, discriminator };
  if (discriminator === undefined) return [union, exclusive];
  const options = def.options.flatMap((option, index) =>
    Array.from(option._zod.propValues?.[discriminator] ?? [], (value) => [value, nodes[index] as SchemaNode] as const),
  );
  const values = options.map(([value]) => value);
  const isPlain = new Set(values).size === values.length && values.every(isPrintable);
  return def.unionFallback === true || !isPlain
    ? [union, true]
    : [{ kind: "discriminated", key: discriminator, options }, false];
}
