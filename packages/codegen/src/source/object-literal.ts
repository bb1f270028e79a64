import { type Expression, type SourceNode, ts } from "./compiler.js";
import { type SchemaSource, unwrapExpression } from "./source-file.js";

export interface LiteralProperty {
  readonly name: string;
  readonly node: SourceNode;
  readonly value: Expression | undefined;
}

/**
 * Returns the properties of an object literal in order, including those of constants that are spread into it.
 * Duplicates are kept.
 */
export function literalProperties(source: SchemaSource, expression: Expression | undefined): LiteralProperty[] {
  if (expression === undefined) return [];
  const unwrapped = unwrapExpression(expression);
  const literal = ts.isIdentifier(unwrapped) ? source.resolve(unwrapped) : (methodsOf(source, unwrapped) ?? unwrapped);
  if (literal === undefined || !ts.isObjectLiteralExpression(literal)) return [];
  return literal.properties.flatMap((property): LiteralProperty[] => {
    if (ts.isSpreadAssignment(property)) return literalProperties(source, property.expression);
    if (ts.isPropertyAssignment(property)) {
      return [{ name: propertyName(property.name), node: property, value: property.initializer }];
    }
    if (ts.isShorthandPropertyAssignment(property)) {
      return [{ name: property.name.text, node: property, value: property.name }];
    }
    return ts.isGetAccessorDeclaration(property)
      ? [{ name: propertyName(property.name), node: property, value: returned(property) }]
      : [];
  });
}

/** Returns the object literal with methods to which an expression such as `Service.methods` refers. */
function methodsOf(source: SchemaSource, expression: Expression): Expression | undefined {
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== "methods") return undefined;
  const call = source.resolve(expression.expression);
  const methods = call !== undefined && ts.isCallExpression(call) ? call.arguments[1] : undefined;
  return methods !== undefined && ts.isIdentifier(methods) ? source.resolve(methods) : methods;
}

/** Returns the expression that a function or getter returns; undefined if it has no return statement. */
export function returned(node: SourceNode): Expression | undefined {
  if (!ts.isArrowFunction(node) && !ts.isFunctionExpression(node) && !ts.isGetAccessorDeclaration(node)) {
    return undefined;
  }
  const { body } = node;
  if (body === undefined || !ts.isBlock(body)) return body && unwrapExpression(body);
  return body.statements.find((each) => ts.isReturnStatement(each))?.expression;
}

function propertyName(name: SourceNode): string {
  if (ts.isComputedPropertyName(name)) return propertyName(name.expression);
  if (ts.isNumericLiteral(name)) return String(Number(name.text));
  return ts.isIdentifier(name) || ts.isStringLiteralLike(name) ? name.text : name.getText();
}
