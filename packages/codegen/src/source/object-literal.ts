import type { Expression } from "ts-morph";
import { Node } from "./compiler.js";
import { type SchemaSource, unwrapExpression } from "./source-file.js";

/** One property of an object literal: the node to point at, and what it is set to. */
export interface LiteralProperty {
  readonly name: string;
  readonly node: Node;
  readonly value: Expression | undefined;
}

/** The properties of an object literal in order, spreads of constants included; duplicates are kept. */
export function literalProperties(source: SchemaSource, expression: Expression | undefined): LiteralProperty[] {
  if (expression === undefined) return [];
  const unwrapped = unwrapExpression(expression);
  const literal = Node.isIdentifier(unwrapped)
    ? source.resolve(unwrapped)
    : (methodsOf(source, unwrapped) ?? unwrapped);
  if (!Node.isObjectLiteralExpression(literal)) return [];
  const properties: LiteralProperty[] = [];
  for (const property of literal.getProperties()) {
    if (Node.isPropertyAssignment(property)) {
      properties.push({ name: propertyName(property.getNameNode()), node: property, value: property.getInitializer() });
    } else if (Node.isShorthandPropertyAssignment(property)) {
      const name = property.getNameNode();
      properties.push({ name: name.getText(), node: property, value: name });
    } else if (Node.isGetAccessorDeclaration(property)) {
      properties.push({ name: propertyName(property.getNameNode()), node: property, value: returned(property) });
    } else if (Node.isSpreadAssignment(property)) {
      properties.push(...literalProperties(source, property.getExpression()));
    }
  }
  return properties;
}

/** The table of methods that `Service.methods` stands for. */
function methodsOf(source: SchemaSource, expression: Expression): Expression | undefined {
  if (!Node.isPropertyAccessExpression(expression) || expression.getName() !== "methods") return undefined;
  const call = source.resolve(expression.getExpression());
  const methods = Node.isCallExpression(call) ? call.getArguments()[1] : undefined;
  return Node.isIdentifier(methods) ? source.resolve(methods) : (methods as Expression | undefined);
}

/** What a function or getter returns, where that is a single expression. */
export function returned(node: Node): Expression | undefined {
  if (Node.isArrowFunction(node)) {
    const body = node.getBody();
    if (Node.isExpression(body)) return unwrapExpression(body);
  }
  if (!Node.isArrowFunction(node) && !Node.isFunctionExpression(node) && !Node.isGetAccessorDeclaration(node)) {
    return undefined;
  }
  return node.getStatements().find(Node.isReturnStatement)?.getExpression();
}

function propertyName(name: Node): string {
  if (Node.isStringLiteral(name) || Node.isNoSubstitutionTemplateLiteral(name)) return name.getLiteralText();
  if (Node.isComputedPropertyName(name)) return propertyName(name.getExpression());
  if (Node.isNumericLiteral(name)) return String(name.getLiteralValue());
  return name.getText();
}
