import { jsonOf } from "@quicrpc/core/internal";
import { isBlob } from "../blobs.js";
import {
  factOf,
  fieldsOf,
  isFunction,
  keyOf,
  type NodeOf,
  optionsOf,
  ownStructure,
  partsOf,
  reaching,
  type SchemaNode,
  takesAnyKey,
} from "../schema/node.js";
import { nodeOf } from "../schema/read.js";
import type { AnySchema, Direction } from "../types/zod.js";
import { foldedIntersection, unionOf } from "./combined.js";
import {
  type JsonSchema,
  keyNames,
  literalKeywords,
  numberKeywords,
  sizeKeywords,
  stringKeywords,
  TYPE_KEY,
} from "./keywords.js";

/** Returns the name that a schema has in the source; undefined if it has none. */
type TitleOf = (schema: AnySchema) => string | undefined;

/** Creates the JSON Schemas of messages. Nested schemas without references are converted once for all messages. */
export class JsonSchemas {
  readonly #titleOf: TitleOf;
  readonly #known: Readonly<Record<Direction, Map<SchemaNode, JsonSchema>>> = { input: new Map(), output: new Map() };

  constructor(titleOf: TitleOf = () => undefined) {
    this.#titleOf = titleOf;
  }

  /** Returns the JSON Schema of a message. Types that JSON lacks are marked by the keyword `TYPE_KEY`. */
  of(schema: AnySchema, role: Direction = "input"): JsonSchema {
    return new Document(nodeOf(schema), this.#titleOf, role, this.#known[role]).print();
  }
}

const DEFINITIONS = "#/$defs/";

/** Creates the JSON Schema of one message. Schemas that are recursive or used repeatedly become definitions. */
class Document {
  readonly #root: SchemaNode;
  readonly #titleOf: TitleOf;
  readonly #role: Direction;
  readonly #defined: ReadonlySet<SchemaNode>;
  readonly #names = new Map<SchemaNode, string>();
  readonly #definitions: Record<string, JsonSchema> = {};
  /** JSON Schemas of nodes without references, which are shared with other messages. */
  readonly #known: Map<SchemaNode, JsonSchema>;
  /** Returns true if the JSON Schema of a node is or contains a reference. Every recursive schema contains one. */
  readonly #hasReferences: (node: SchemaNode) => boolean;

  constructor(root: SchemaNode, titleOf: TitleOf, role: Direction, known: Map<SchemaNode, JsonSchema>) {
    this.#root = root;
    this.#titleOf = titleOf;
    this.#role = role;
    this.#known = known;
    this.#defined = definedNodes(root);
    this.#hasReferences = reaching((node) => this.#defined.has(node), writtenParts);
  }

  print(): JsonSchema {
    const schema = this.#written(this.#root);
    return this.#names.size === 0 ? schema : { ...schema, $defs: this.#definitions };
  }

  #of(node: SchemaNode): JsonSchema {
    if (!this.#defined.has(node)) {
      if (this.#hasReferences(node)) return this.#written(node);
      const schema = this.#known.get(node) ?? this.#written(node);
      this.#known.set(node, schema);
      return schema;
    }
    if (node === this.#root) return { $ref: "#" };
    let name = this.#names.get(node);
    if (name === undefined) {
      name = this.#freeName(node);
      this.#names.set(node, name);
      this.#definitions[name] = {};
      this.#definitions[name] = this.#written(node);
    }
    return { $ref: DEFINITIONS + name };
  }

  /**
   * Returns the definition that a JSON Schema refers to; undefined if it is not a reference, or the definition is not
   * created yet.
   */
  readonly #definition = ({ $ref }: JsonSchema): JsonSchema | undefined =>
    typeof $ref === "string" ? this.#definitions[$ref.slice(DEFINITIONS.length)] : undefined;

  #freeName(node: SchemaNode): string {
    const { id, title = this.#titleOf(node.schema) } = node.meta;
    const text = [id, title].find((each) => typeof each === "string" && each !== "") as string | undefined;
    // With only these characters, references to the definition need no escapes.
    const known = text?.replaceAll(/[^\p{L}\p{N}_.-]/gu, "_");
    for (let n = known === undefined ? 0 : 1; ; n++) {
      const name = known === undefined ? `__schema${n}` : n === 1 ? known : `${known}${n}`;
      if (!Object.hasOwn(this.#definitions, name)) return name;
    }
  }

  #written(node: SchemaNode): JsonSchema {
    const { id, proto: _, protoReserved: __, ...meta } = node.meta as Readonly<Record<string, unknown>>;
    if (isBlob(node.schema)) {
      const { description } = meta;
      return { ...(description === undefined ? {} : { description }), [TYPE_KEY]: "blob" };
    }
    const { [TYPE_KEY]: mark, ...keywords } = this.#keywords(node);
    const schema: Record<string, unknown> = { ...keywords };
    const isTransformed = isTransforming(node);
    for (const [key, value] of Object.entries(meta)) {
      // Examples and defaults of a transform describe its result, not the value that is sent.
      if (!isTransformed || (key !== "examples" && key !== "default")) schema[key] = jsonOf(value);
    }
    if (isTransformed) delete schema["default"];
    const title = node.type === "object" && schema["$ref"] === undefined ? this.#titleOf(node.schema) : undefined;
    if (title !== undefined || (node === this.#root && typeof id === "string")) schema["title"] ??= title ?? id;
    return mark === undefined ? schema : { ...schema, [TYPE_KEY]: mark };
  }

  #keywords(node: SchemaNode): JsonSchema {
    const of = (part: SchemaNode): JsonSchema => this.#of(part);
    const own = (part: SchemaNode): JsonSchema => (part.schema === node.schema ? this.#keywords(part) : this.#of(part));
    switch (node.kind) {
      case "string":
        return { type: "string", ...stringKeywords(node.checks) };
      case "number":
        return numberKeywords(node.checks);
      case "literal":
        return literalKeywords(node.values);
      case "template":
        return { type: "string", pattern: node.regex.source };
      case "object":
        return this.#object(node);
      case "array":
        return { type: "array", items: of(node.element), ...sizeKeywords(node.checks) };
      case "set": {
        const unique = isScalar(node.element) ? { uniqueItems: true } : {};
        return { type: "array", items: of(node.element), ...unique, ...sizeKeywords(node.checks), [TYPE_KEY]: "set" };
      }
      case "map": {
        const pair = { type: "array", prefixItems: [of(node.key), of(node.element)], minItems: 2, maxItems: 2 };
        return { type: "array", items: pair, ...sizeKeywords(node.checks), [TYPE_KEY]: "map" };
      }
      case "tuple": {
        const least = node.items.findLastIndex((item) => isRequired(item)) + 1;
        return {
          type: "array",
          prefixItems: node.items.map(of),
          items: node.rest === undefined ? false : of(node.rest),
          ...(least > 0 && { minItems: least }),
          ...(node.rest === undefined && { maxItems: node.items.length }),
        };
      }
      case "record":
        return this.#record(node);
      case "union":
        return unionOf(node.exclusive === true ? "oneOf" : "anyOf", node.options.map(of));
      case "discriminated":
        return { oneOf: optionsOf(node).map((option) => of(option.node)) };
      case "intersection":
        return foldedIntersection([of(node.left), of(node.right)], this.#definition);
      case "nullable":
        return unionOf("anyOf", [of(node.inner), { type: "null" }]);
      case "frozen":
        return { ...of(node.inner), readOnly: true };
      case "default":
      case "prefault":
        return { ...of(node.inner), ...(node.isConstant === true && { default: jsonOf(node.value()) }) };
      case "refined":
        return { ...own(node.inner), ...this.#refinement(node) };
      case "pipe":
        return of(isFunction(node.from) ? node.to : node.from);
      case "external":
        // The receiver coerces the value, so the sender may send any value.
        return node.coerces && this.#role === "output" ? {} : own(node.structure);
      case "optional":
      case "exactOptional":
      case "nonOptional":
      case "caught":
        return of(node.inner);
      default:
        return FIXED[node.kind] ?? {};
    }
  }

  #object(node: NodeOf<"object">): JsonSchema {
    const fields = fieldsOf(node);
    const required = fields.filter((field) => isRequired(field.node)).map(({ name }) => name);
    const { others } = node;
    return {
      type: "object",
      properties: Object.fromEntries(fields.map((field) => [field.name, this.#of(field.node)])),
      ...(required.length > 0 && { required }),
      ...(others !== "strip" && { additionalProperties: others === "strict" ? false : this.#of(others) }),
    };
  }

  #record(node: NodeOf<"record">): JsonSchema {
    const { exactly } = node.keys;
    const names = keyNames(this.#of(keyOf(node)), this.#definition);
    const values = this.#of(node.element);
    if (node.loose) {
      const { type: _, pattern, ...more } = names;
      const isPattern = typeof pattern === "string" && Object.keys(more).length === 0;
      return {
        type: "object",
        ...(takesAnyKey(node) && { additionalProperties: values }),
        ...(isPattern && { patternProperties: { [pattern]: values } }),
        ...(exactly !== undefined && { properties: Object.fromEntries(exactly.map((key) => [key, values])) }),
      };
    }
    return {
      type: "object",
      propertyNames: names,
      additionalProperties: values,
      ...(exactly !== undefined && isRequired(node.element) && { required: exactly }),
    };
  }

  #refinement({ inner, checks }: NodeOf<"refined">): JsonSchema {
    const change = checks.findIndex(({ kind }) => kind === "overwrite");
    // Checks after a function apply to the changed value. A value before `trim` is at least as long, so a minimum
    // length still applies to it.
    const isLonger = checks.every((check) => check.kind !== "overwrite" || check.by === "trim");
    const sent = checks.filter(({ kind }, at) => change === -1 || at < change || (isLonger && kind === "minSize"));
    if (sent.length === 0) return {};
    switch (inner.kind) {
      case "string":
        return stringKeywords(sent);
      case "number":
        return numberKeywords(sent);
      case "array":
      case "set":
      case "map":
      case "tuple":
        return sizeKeywords(sent);
      default:
        return {};
    }
  }
}

/**
 * JSON Schemas of the kinds of schemas without nested schemas and checks. Kinds that are not listed accept any value.
 */
const FIXED: Readonly<Record<string, JsonSchema>> = {
  bigint: { type: "integer", [TYPE_KEY]: "bigint" },
  date: { type: "string", format: "date-time", [TYPE_KEY]: "date" },
  bytes: { type: "string", contentEncoding: "base64", [TYPE_KEY]: "bytes" },
  boolean: { type: "boolean" },
  null: { type: "null" },
  never: { not: {} },
};

function definedNodes(root: SchemaNode): Set<SchemaNode> {
  const defined = new Set<SchemaNode>();
  const seen = new Set<SchemaNode>();
  const open = new Set<SchemaNode>();
  const visit = (node: SchemaNode): void => {
    if (open.has(node) || (seen.has(node) && (levelsOf(node) > 1 || defined.has(node)))) {
      defined.add(node);
      return;
    }
    seen.add(node);
    if (node.meta.id !== undefined && node !== root) defined.add(node);
    open.add(node);
    for (const part of writtenParts(node)) visit(part);
    open.delete(node);
  };
  visit(root);
  return defined;
}

const writtenParts: (node: SchemaNode) => readonly SchemaNode[] = factOf((node) => {
  if (isBlob(node.schema) || node.kind === "template" || node.kind === "success") return [];
  if (node.kind === "pipe") return [isFunction(node.from) ? node.to : node.from];
  return partsOf(node).flatMap((part) => (part.schema === node.schema ? writtenParts(part) : [part]));
}, []);

const BRANCHING: ReadonlySet<string> = new Set("object union discriminated tuple intersection record map".split(" "));

/**
 * Returns the number of nested levels with several schemas. From two levels on, repeating a schema at each use instead
 * of referring to it would double the size at each level.
 */
const levelsOf: (node: SchemaNode) => number = factOf(
  (node) => Math.max(0, ...writtenParts(node).map(levelsOf)) + (BRANCHING.has(ownStructure(node).kind) ? 1 : 0),
  0,
);

function isRequired(node: SchemaNode): boolean {
  // Only the function of a transform knows whether it accepts an absent value.
  if (node.kind === "pipe" && isFunction(node.from)) return isRequired(node.to);
  return node.optin === undefined || (node.optout === undefined && refusesUndefined(node));
}

/**
 * Returns true if a schema refuses `undefined`, although a field with this schema may be omitted according to its type.
 */
function refusesUndefined(node: SchemaNode): boolean {
  const structure = ownStructure(node);
  if (structure.kind === "pipe") return refusesUndefined(structure.from);
  if (structure.kind === "literal") return !structure.values.includes(undefined);
  if (SAME_ABSENCE.has(structure.kind)) return partsOf(structure).every(refusesUndefined);
  return !MAY_TAKE_UNDEFINED.has(structure.kind);
}

const SAME_ABSENCE: ReadonlySet<string> = new Set("exactOptional nullable frozen refined union".split(" "));
const MAY_TAKE_UNDEFINED: ReadonlySet<string> = new Set(
  "any undefined optional default prefault caught custom transform success other".split(" "),
);

/** Returns true if two values of `node` with the same JSON are always the same member of a set. */
function isScalar(node: SchemaNode): boolean {
  if (node.kind === "refined") return isScalar(node.inner);
  return ["string", "number", "bigint", "boolean", "literal", "template"].includes(node.kind);
}

/** Returns true if a function changes the values of a schema or of one nested in it. */
const isTransforming = reaching(
  (node) => node.kind === "external" && ["transform", "pipe"].includes(node.structure.kind),
);
