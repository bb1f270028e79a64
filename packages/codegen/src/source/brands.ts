import { quoted } from "../print/text.js";
import type { ts as compiler } from "ts-morph";
import { type Expression, ts } from "./compiler.js";
import { literalProperties } from "./object-literal.js";
import { type SchemaSource, unwrapExpression } from "./source-file.js";

/** A brand added by `.brand<…>()`: its names as a type, and whether it applies to the input or the output type. */
export interface Brand {
  readonly names: string;
  readonly side: "in" | "out" | "inout";
}

/**
 * Names of zod methods that return a different schema. Other methods return the same schema, or a copy with the same
 * type.
 */
const DERIVING: ReadonlySet<string> = new Set(
  (
    "array optional exactOptional nullable nullish default prefault catch nonoptional readonly pipe transform or and " +
    "extend safeExtend merge pick omit partial required catchall strict strip loose passthrough keyof unwrap"
  ).split(" "),
);
const MAX_HOPS = 50;

/**
 * Returns the brands of the schema that `expression` creates. They are read from the source, because zod keeps them
 * only in the schema's type.
 */
export function brandsOf(source: SchemaSource, expression: Expression | undefined): Brand[] {
  const brands: Brand[] = [];
  let current = expression;
  for (let hops = 0; current !== undefined && hops < MAX_HOPS; hops++) {
    const written = unwrapExpression(current);
    if (ts.isIdentifier(written)) {
      current = source.resolve(written);
    } else if (ts.isCallExpression(written) && ts.isPropertyAccessExpression(written.expression)) {
      const { name, expression: receiver } = written.expression;
      if (DERIVING.has(name.text)) break;
      const brand = name.text === "brand" ? brandOf(written) : undefined;
      if (brand !== undefined) brands.push(brand);
      current = receiver;
    } else {
      current = fieldOf(source, written);
    }
  }
  return brands.reverse();
}

function brandOf({ typeArguments, arguments: given }: compiler.CallExpression): Brand | undefined {
  const [type, side] = typeArguments ?? [];
  const [value] = given;
  const names = type === undefined ? value && literalText(value) : typeNames(type);
  const dir = side !== undefined && ts.isLiteralTypeNode(side) ? literalText(side.literal) : undefined;
  return names === undefined ? undefined : { names, side: dir === '"in"' ? "in" : dir === '"inout"' ? "inout" : "out" };
}

/**
 * Returns the text of a type that consists of literals; undefined for a type that has a meaning only in its own module.
 */
function typeNames(type: compiler.TypeNode): string | undefined {
  if (ts.isLiteralTypeNode(type)) return literalText(type.literal);
  if (!ts.isUnionTypeNode(type)) return undefined;
  const names = type.types.map(typeNames);
  return names.includes(undefined) ? undefined : names.join(" | ");
}

function literalText(node: compiler.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return quoted(node.text);
  return ts.isNumericLiteral(node) ? node.text : undefined;
}

/** Returns the expression of the field that an expression such as `Order.shape.id` refers to. */
function fieldOf(source: SchemaSource, expression: Expression): Expression | undefined {
  if (!ts.isPropertyAccessExpression(expression)) return undefined;
  const { name, expression: shape } = expression;
  if (!ts.isPropertyAccessExpression(shape) || shape.name.text !== "shape") return undefined;
  const object = ts.isIdentifier(shape.expression) ? source.resolve(shape.expression) : shape.expression;
  if (object === undefined || !ts.isCallExpression(object)) return undefined;
  return literalProperties(source, object.arguments[0]).findLast((each) => each.name === name.text)?.value;
}
