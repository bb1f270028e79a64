import { keyText } from "../print/text.js";
import type { SchemaRoot } from "../source/schema-root.js";
import type { Direction } from "./zod.js";

/**
 * Names of types that are declared elsewhere. Each generated file has its own implementation, which records the
 * imports.
 */
export interface TypeNames {
  /** Returns `z.input` or `z.output` of the schema at the path `access` in an exported constant. */
  schema(helper: Direction, root: SchemaRoot, access: string): string;
  brand(names: string): string;
  /** Returns a link to an export of a schema module, for a comment; undefined if the file's comments have no links. */
  link?(root: SchemaRoot): string | undefined;
  named(target: NamedType, direction: Direction): string;
  /** Returns the name by which the file refers to an export of `@quicrpc/core/generated`, or to a global type. */
  core(name: string): string;
  /** Name to print instead of the keyword `any`, which linters may report. */
  readonly any?: string | undefined;
}

/** Prints types with the names under which they are declared, without imports. */
export const plainNames: TypeNames = {
  schema: (helper, { name }, access) => `z.${helper}<${schemaExpression(name, access)}>`,
  brand: (names) => `z.$brand<${names}>`,
  named: referenceName,
  core: (name) => name,
};

/** A TypeScript type. Each file prints it with its own names. */
export interface TypeNode {
  /** Returns the text of the type, on one line. */
  readonly print: (names: TypeNames) => string;
  /** Text of the type, if it is the same in every file. */
  readonly text?: string;
  readonly options?: readonly TypeNode[];
  readonly object?: ObjectType;
  /**
   * How the type is written if its structure is not visible: by its name ("named"), or by `z.input` or `z.output`
   * ("inferred").
   */
  readonly opaque?: "named" | "inferred";
  /** Operator that joins the parts of the type. Next to other operators, the type needs parentheses. */
  readonly operator?: "|" | "&" | "readonly";
  /** Returns the type with readonly parts; undefined if `Readonly` of the type is the same. */
  readonly frozen?: () => TypeNode;
}

interface ObjectType {
  readonly fields: readonly ObjectField[];
  /** Type of all keys that are not fields; undefined if there are none. */
  readonly index: TypeNode | undefined;
}

/** One field of an object type. */
export interface ObjectField {
  readonly name: string;
  readonly optional: boolean;
  readonly type: TypeNode;
  readonly docs: string | undefined;
}

/** A type with a name; with two names if its input and output types differ. */
export interface NamedType {
  readonly name: string;
  readonly docs: string | undefined;
  readonly isShared: boolean;
  /** True if the author has given the name; false if it was made from the position of the first use. */
  readonly isGiven: boolean;
  differs: boolean;
}

export interface Declaration {
  readonly name: string;
  /** The export of a schema module that contains the schema; undefined if the schema is not exported. */
  readonly root: SchemaRoot | undefined;
  readonly docs: string | undefined;
  readonly type: TypeNode;
}

export function referenceName(target: NamedType, direction: Direction): string {
  return direction === "output" && target.differs ? `${target.name}Parsed` : target.name;
}

export function schemaExpression(root: string, access: string): string {
  return `(typeof ${root})${access}`;
}

export function text(value: string): TypeNode {
  const type: TypeNode = {
    text: value,
    print: (names) => (value === "any" ? (names.any ?? value) : value),
    frozen: () => (value === "unknown" ? generic("Readonly", type) : type),
  };
  return type;
}

export function generic(name: string, ...args: TypeNode[]): TypeNode {
  const type: TypeNode = {
    print(names) {
      const head = names.core(name);
      return args.length === 0 ? head : `${head}<${args.map((each) => each.print(names)).join(", ")}>`;
    },
    frozen() {
      if (name === "Map" || name === "Set") return generic(`Readonly${name}`, ...args);
      return name.startsWith("Readonly") ? type : generic("Readonly", type);
    },
  };
  return type;
}

export function arrayType(element: TypeNode): TypeNode {
  return list((names) => `${operand(element, names)}[]`);
}

export function tupleType(
  items: readonly Pick<ObjectField, "type" | "optional">[],
  rest: TypeNode | undefined,
): TypeNode {
  return list((names) => {
    const texts = items.map(({ type, optional }) => (optional ? `${operand(type, names)}?` : type.print(names)));
    return `[${[...texts, ...(rest === undefined ? [] : [`...${operand(rest, names)}[]`])].join(", ")}]`;
  });
}

function list(print: TypeNode["print"]): TypeNode {
  const frozen: TypeNode = { print: (names) => `readonly ${print(names)}`, operator: "readonly", frozen: () => frozen };
  return { print, frozen: () => frozen };
}

/**
 * Returns the union of `options`, with nested unions flattened and duplicates removed. If an option is `any` or
 * `unknown`, returns that.
 */
export function unionType(options: readonly TypeNode[]): TypeNode {
  const flat = options.flatMap((option) => option.options ?? [option]);
  for (const wide of ["any", "unknown"]) if (flat.some((each) => each.text === wide)) return text(wide);
  const seen = new Set<string>();
  const kept = flat.filter((option) => {
    if (option.text === undefined) return true;
    return option.text !== "never" && !seen.has(option.text) && seen.add(option.text);
  });
  const [only = text("never")] = kept;
  if (kept.length < 2) return only;
  return {
    options: kept,
    operator: "|",
    print: (names) => kept.map((each) => operand(each, names, "&")).join(" | "),
    frozen: () => unionType(kept.map(readonlyType)),
  };
}

export function intersectionType(...parts: TypeNode[]): TypeNode {
  return { operator: "&", print: (names) => parts.map((each) => operand(each, names, "|")).join(" & ") };
}

export function objectType(fields: readonly ObjectField[], index: TypeNode | undefined): TypeNode {
  return {
    object: { fields, index },
    print(names) {
      const texts = fields.map((field) => `${fieldName(field)}: ${field.type.print(names)}`);
      if (index === undefined) return `{ ${texts.join("; ")} }`;
      const others = `[key: string]: ${index.print(names)}`;
      return fitsIndex(fields, index)
        ? `{ ${[...texts, others].join("; ")} }`
        : `{ ${texts.join("; ")} } & { ${others} }`;
    },
  };
}

/**
 * Returns the text of a type as an operand. It is in parentheses if it has the operator `inner` or, without that
 * argument, any operator.
 */
function operand(type: TypeNode, names: TypeNames, inner: TypeNode["operator"] = type.operator): string {
  const printed = type.print(names);
  return inner !== undefined && type.operator === inner ? `(${printed})` : printed;
}

export function readonlyType(type: TypeNode): TypeNode {
  return type.frozen?.() ?? generic("Readonly", type);
}

/** Returns true if the types of all fields match the index signature, so that an object type can have both. */
export function fitsIndex(fields: readonly ObjectField[], index: TypeNode): boolean {
  const others = index.print(plainNames);
  if (others === "unknown" || others === "any") return true;
  return fields.every((field) => !field.optional && field.type.print(plainNames) === others);
}

export function fieldName({ name, optional }: Pick<ObjectField, "name" | "optional">): string {
  return `${keyText(name)}${optional ? "?" : ""}`;
}
