// Finds the value that the code uses if an option is not given, and compares it with the default in the option's
// comment.
import { Node, SyntaxKind } from "ts-morph";
import { allSources, ROOT, sourceOf } from "./docstrings.mjs";

/** Stands for "nothing": undefined, and what does as much as that. */
const NOTHING = Symbol("nothing");
const UNITS = { ms: 1, s: 1000, minutes: 60_000, "": 1, Ki: 1024, KiB: 1024, Mi: 2 ** 20, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Options whose default is in a constant that nothing but a name of its own connects with them. */
const SAID_BY = new Map([
  ["HttpOptions.maxUploadAgeMs", ["http/src/server/blobs/http-blobs.ts", "DEFAULT_AGE_MS"]],
  ["HttpServiceOptions.maxUploadAgeMs", ["http/src/server/blobs/http-blobs.ts", "DEFAULT_AGE_MS"]],
]);
/** Options whose default only a reader sees, each with where. */
const SEEN_BY_READING = new Map([
  ["CallOptions.resumeForMs", "connection/session-caller.ts gives a call the limit of its connection"],
  ["SessionDrainOptions.timeoutMs", "session/departure.ts tells the peer of what was given alone"],
  ["DialOptions.timeoutMs", "@quicrpc/fails-components gives HTTP/3 less, before it tries HTTP/2"],
  ["ListenOptions.transport", "limits.ts of the engine completes them"],
  ["ConnectOptions.transport", "the same"],
  ["WebTransportConnectOptions.transport", "the same"],
  ["WebTransportOptions.requireUnreliable", "no code reads it, since every session has datagrams"],
]);

/** The value that a comment states; undefined for what only a person can read ("the user's cache folder"). */
export function statedValue(text) {
  const plain = text.replaceAll("`", "").trim();
  if (/^(?:none|never|no limit|nothing|undefined)$/.test(plain)) return NOTHING;
  if (plain === "true" || plain === "false") return plain === "true";
  if (plain === "a day") return 86_400_000;
  const quoted = /^"([^"]*)"$/.exec(plain);
  if (quoted !== null) return quoted[1];
  const number = /^(\d[\d,_]*(?:\.\d+)?)\s?([A-Za-z]*)$/.exec(plain);
  if (number !== null && number[2] in UNITS) return Number(number[1].replaceAll(/[,_]/g, "")) * UNITS[number[2]];
  const constant = /^(?:([A-Z][A-Z_]+)|(?:[A-Z][A-Z_]+|limits)\.(\w+))$/.exec(plain);
  return constant === null ? undefined : { constant: constant[1] ?? constant[2] };
}

const unwrapped = (node) =>
  Node.isParenthesizedExpression(node) || Node.isAsExpression(node) || Node.isNonNullExpression(node)
    ? unwrapped(node.getExpression())
    : node;

function declarationOf(node) {
  const symbol = node.getSymbol();
  return (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations()[0];
}

/** The value of an expression that does not depend on what a program gives; undefined for any other. */
function valueOf(expression, depth = 0) {
  const node = unwrapped(expression);
  if (depth > 5) return undefined;
  if (Node.isTrueLiteral(node) || Node.isFalseLiteral(node)) return Node.isTrueLiteral(node);
  if (Node.isNumericLiteral(node)) return node.getLiteralValue();
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)) return node.getLiteralValue();
  if (Node.isNullLiteral(node) || node.getText() === "undefined") return NOTHING;
  if (/^(?:Number\.POSITIVE_INFINITY|Infinity)$/.test(node.getText())) return NOTHING;
  if (Node.isBinaryExpression(node)) {
    const [left, right] = [valueOf(node.getLeft(), depth + 1), valueOf(node.getRight(), depth + 1)];
    if (typeof left !== "number" || typeof right !== "number") return undefined;
    return { "*": left * right, "+": left + right, "-": left - right, "/": left / right, "**": left ** right }[
      node.getOperatorToken().getText()
    ];
  }
  if (Node.isIdentifier(node)) {
    const declaration = declarationOf(node);
    if (!Node.isVariableDeclaration(declaration)) return undefined;
    const initializer = declaration.getInitializer();
    const value = initializer === undefined ? undefined : valueOf(initializer, depth + 1);
    return value ?? { constant: node.getText() };
  }
  if (Node.isPropertyAccessExpression(node)) {
    const constant = node.getName();
    const found = propertyOf(node.getExpression(), constant);
    const value = found === undefined ? undefined : valueOf(found, depth + 1);
    if (value !== undefined && value !== NOTHING && typeof value !== "object") return { constant, value };
    return /limits|defaults|settings/i.test(node.getExpression().getText()) ? { constant } : undefined;
  }
  return undefined;
}

/** What a constant object has under a name. */
function propertyOf(expression, name) {
  const node = unwrapped(expression);
  const declaration = Node.isIdentifier(node) ? declarationOf(node) : undefined;
  const object = Node.isVariableDeclaration(declaration) ? declaration.getInitializer() : node;
  const literal = object === undefined ? undefined : literalIn(object);
  const property = literal?.getProperty(name);
  return Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
}

function literalIn(expression) {
  const node = unwrapped(expression);
  if (Node.isSatisfiesExpression(node)) return literalIn(node.getExpression());
  if (Node.isObjectLiteralExpression(node)) return node;
  const [only] =
    Node.isCallExpression(node) && node.getExpression().getText() === "Object.freeze" ? node.getArguments() : [];
  return only === undefined ? undefined : literalIn(only);
}

/** Every name in the sources, with the places where it stands. */
let places;
function placesOf(name) {
  if (places === undefined) {
    places = new Map();
    for (const file of allSources()) {
      for (const node of file.getDescendantsOfKind(SyntaxKind.Identifier)) {
        const text = node.getText();
        const found = places.get(text);
        if (found === undefined) places.set(text, [node]);
        else found.push(node);
      }
    }
  }
  return places.get(name) ?? [];
}

const isProperty = (symbol, property) => symbol?.getDeclarations().includes(property) ?? false;

/** What stands for an option at one place of the code: the expression that reads it, or the variable that holds it. */
function readAt(identifier, isSame) {
  const parent = identifier.getParent();
  if (Node.isPropertyAccessExpression(parent) && parent.getNameNode() === identifier)
    return isSame(identifier.getSymbol()) ? { expression: parent } : undefined;
  if (!Node.isBindingElement(parent) || !Node.isObjectBindingPattern(parent.getParent())) return undefined;
  const variable = parent.getNameNode();
  if ((parent.getPropertyNameNode() ?? variable) !== identifier || !Node.isIdentifier(variable)) return undefined;
  const symbol = parent.getParent().getType().getNonNullableType().getProperty(identifier.getText());
  return isSame(symbol) ? { variable, initializer: parent.getInitializer() } : undefined;
}

/** The uses of a variable within the function that declares it. */
function usesOf(variable) {
  const scope = variable.getFirstAncestor(
    (node) => Node.isFunctionLikeDeclaration(node) || Node.isArrowFunction(node) || Node.isSourceFile(node),
  );
  const symbol = variable.getSymbol();
  return scope
    .getDescendantsOfKind(SyntaxKind.Identifier)
    .filter((node) => node !== variable && node.getText() === variable.getText())
    .filter((node) => node.getSymbol() === symbol || Node.isShorthandPropertyAssignment(node.getParent()));
}

/** Looks at one expression that has the value given: what it becomes where nothing is given, and the properties that it goes on to. */
function look(expression, seen) {
  let node = expression;
  let parent = node.getParent();
  while (Node.isParenthesizedExpression(parent) || Node.isNonNullExpression(parent) || Node.isAsExpression(parent)) {
    node = parent;
    parent = node.getParent();
  }
  if (Node.isBinaryExpression(parent)) lookAtOperator(node, parent, seen);
  else if (isTested(node, parent)) seen.found.push({ value: false, weak: true, node: parent });
  else if (Node.isVariableDeclaration(parent) && Node.isIdentifier(parent.getNameNode())) {
    for (const use of usesOf(parent.getNameNode())) look(use, seen);
  } else if (Node.isPropertyAssignment(parent) || Node.isShorthandPropertyAssignment(parent)) {
    const symbol = parent.getParent().getContextualType()?.getNonNullableType().getProperty(parent.getName());
    for (const declaration of symbol?.getDeclarations() ?? []) seen.onward.add(declaration);
  } else if (Node.isSpreadAssignment(parent)) {
    for (const { name } of constantsBefore(parent)) seen.found.push({ value: { constant: name }, node: parent });
  } else if (Node.isCallExpression(parent) || Node.isNewExpression(parent)) lookAtCall(node, parent, seen);
}

/** Whether an expression is the option itself, not what became of it in another function. */
function isNamed(node, name) {
  return node.getText() === name || (Node.isPropertyAccessExpression(node) && node.getName() === name);
}

function isTested(node, parent) {
  if (Node.isPrefixUnaryExpression(parent)) return true;
  return (
    (Node.isIfStatement(parent) && parent.getExpression() === node) ||
    (Node.isConditionalExpression(parent) && parent.getCondition() === node)
  );
}

function lookAtOperator(node, parent, seen) {
  const operator = parent.getOperatorToken().getText();
  if (operator === "=" && parent.getRight() === node) return goOn(parent.getLeft(), seen);
  if (operator === "&&") return void seen.found.push({ value: false, weak: true, node: parent });
  if (parent.getLeft() !== node) return operator === "??" ? look(parent, seen) : undefined;
  const right = parent.getRight();
  if (operator === "??" || operator === "||" || operator === "??=") {
    const value = valueOf(right);
    if (value !== undefined) seen.found.push({ value, node: parent });
  } else if (/^[!=]==$/.test(operator)) {
    if (!isNamed(node, seen.name)) return undefined;
    const other = right.getText();
    if (Node.isStringLiteral(right))
      seen.found.push({ value: { not: right.getLiteralValue() }, weak: true, node: parent });
    const whole = parent.getParentIfKind(SyntaxKind.BinaryExpression)?.getText() ?? "";
    if (other === "true" || (other === "false" && whole.includes(`${node.getText()} !== undefined`)))
      seen.found.push({ value: false, node: parent });
    else if (other === "false") seen.found.push({ value: true, node: parent });
    const choice = parent.getParent();
    if (other !== "undefined" || !Node.isConditionalExpression(choice) || choice.getCondition() !== parent)
      return undefined;
    const value = valueOf(operator === "===" ? choice.getWhenTrue() : choice.getWhenFalse());
    if (value !== undefined && value !== NOTHING) seen.found.push({ value, node: choice });
  }
  return undefined;
}

function lookAtCall(node, call, seen) {
  const callee = declarationOf(unwrapped(call.getExpression()));
  const called = Node.isClassDeclaration(callee) ? callee.getConstructors()[0] : callee;
  const parameter = called?.getParameters?.()[call.getArguments().indexOf(node)];
  const initializer = parameter?.getInitializer();
  if (initializer !== undefined) {
    const value = valueOf(initializer);
    if (value !== undefined) seen.found.push({ value, node: parameter });
  } else if (parameter !== undefined && Node.isIdentifier(parameter.getNameNode()) && !seen.parameters.has(parameter)) {
    seen.parameters.add(parameter);
    for (const use of usesOf(parameter.getNameNode())) look(use, seen);
  }
}

/** What an object has before a spread: `DEFAULTS` of `{ ...DEFAULTS, ...options }`, and `name` of `{ name: "x", ...options }`. */
function before(spread) {
  const properties = spread.getParent().getProperties();
  return properties.slice(0, properties.indexOf(spread));
}

function constantsBefore(spread) {
  return before(spread).flatMap((other) => {
    const expression = Node.isSpreadAssignment(other) ? unwrapped(other.getExpression()) : undefined;
    const isConstant =
      expression !== undefined && Node.isIdentifier(expression) && /^[A-Z_]+$/.test(expression.getText());
    return isConstant ? [{ name: expression.getText(), expression }] : [];
  });
}

/** A field that got the value: where it is read, it may be completed. */
function goOn(target, seen) {
  const declaration = Node.isPropertyAccessExpression(target)
    ? target.getNameNode().getSymbol()?.getDeclarations()[0]
    : undefined;
  if (declaration !== undefined) seen.onward.add(declaration);
}

/** The spreads that complete what is given, with its type. */
let completions;
function allCompletions() {
  completions ??= allSources()
    .flatMap((file) => file.getDescendantsOfKind(SyntaxKind.SpreadAssignment))
    .filter((spread) => before(spread).length > 0)
    .map((spread) => ({ spread, type: spread.getExpression().getType().getNonNullableType() }));
  return completions;
}

function completedBy(property, name) {
  return allCompletions().flatMap(({ spread, type }) => {
    if (!isProperty(type.getProperty(name), property)) return [];
    const said = before(spread).filter((other) => Node.isPropertyAssignment(other) && other.getName() === name);
    const constants = constantsBefore(spread).map(({ expression }) => propertyOf(expression, name));
    return [...said.map((one) => one.getInitializer()), ...constants].flatMap((expression) => {
      const value = expression === undefined ? undefined : valueOf(expression);
      return value === undefined ? [] : [{ value, weak: true, node: spread }];
    });
  });
}

/** What a property falls back to where the code reads it, and the properties that it goes on to. */
function fallbacksOf(property, isSame) {
  const name = property.getName();
  const seen = { name, found: completedBy(property, name), onward: new Set(), parameters: new Set() };
  for (const identifier of placesOf(name)) {
    const read = readAt(identifier, isSame);
    if (read?.expression !== undefined) look(read.expression, seen);
    else if (read?.initializer !== undefined) {
      const value = valueOf(read.initializer);
      if (value !== undefined) seen.found.push({ value, node: read.initializer });
    } else if (read !== undefined) for (const use of usesOf(read.variable)) look(use, seen);
  }
  return seen;
}

/**
 * Judges a stated default. Where the code that reads the option falls back to a value, it is that one; else what the places say that the option goes on to, of
 * which some complete it for purposes of their own.
 */
function judge(property, stated) {
  const done = new Set([property]);
  let next = [property];
  let isRight = false;
  const wrong = [];
  while (next.length > 0 && done.size < 40) {
    const level = next.map((one) => fallbacksOf(one, (symbol) => isProperty(symbol, one)));
    const found = level
      .flatMap(({ found: some }) => some)
      .map((one) => ({ ...one, agrees: agrees(stated, one.value) }));
    wrong.push(...found.filter((one) => one.agrees === false && one.weak !== true));
    if (done.size === 1 && wrong.length > 0) return { wrong, isRight: false };
    isRight ||= found.some((one) => one.agrees === true);
    next = level.flatMap(({ onward }) => [...onward]).filter((one) => one.getName !== undefined && !done.has(one));
    for (const one of next) done.add(one);
  }
  return isRight || namesakesAgree(property, stated) ? { wrong: [], isRight: true } : { wrong, isRight: false };
}

/** Options that are passed on as a whole object are read by others of the same name. */
function namesakesAgree(property, stated) {
  return fallbacksOf(property, () => true).found.some(({ value }) => agrees(stated, value) === true);
}

/** Where a fallback stands, for a message. */
export function placeOf(node) {
  return `${node.getSourceFile().getFilePath().slice(ROOT.length)}:${node.getStartLineNumber()}`;
}

/** Whether a constant is the one that is named, or one that it is spread into: `CLIENT_LIMITS` are of `DEFAULT_LIMITS = { ...CLIENT_LIMITS, maxCalls: 4096 }`. */
function isOf(constant, named) {
  if (constant === named) return true;
  const [declaration] = placesOf(named)
    .map((identifier) => identifier.getParent())
    .filter((parent) => Node.isVariableDeclaration(parent) && parent.getName() === named);
  const initializer = declaration?.getInitializer();
  const parts = initializer === undefined ? [] : (literalIn(initializer)?.getProperties() ?? []);
  return parts.some((part) => Node.isSpreadAssignment(part) && isOf(constant, part.getExpression().getText()));
}

/** Whether the code's fallback is what the comment says. */
export function agrees(stated, value) {
  if (typeof stated === "object") {
    return typeof value === "object" && "not" in value
      ? undefined
      : typeof value === "object" && isOf(value.constant, stated.constant);
  }
  if (typeof value === "object" && "not" in value) return typeof stated === "string" ? stated !== value.not : undefined;
  const plain = typeof value === "object" ? value.value : value;
  if (plain === undefined) return undefined;
  if (stated === NOTHING) return plain === NOTHING || plain === false || plain === "" || plain === 0;
  if (stated === false) return plain === false || plain === NOTHING;
  return plain === stated;
}

/** Lines for the options whose comments state another default than the code has, and for those of which the code does not show it. */
export function wrongDefaults(options) {
  return options.flatMap(({ option, node, value }) => {
    const stated = statedValue(value);
    if (stated === undefined || SEEN_BY_READING.has(option)) return [];
    const constant = SAID_BY.get(option);
    if (constant !== undefined) {
      const [path, name] = constant;
      const said = valueOf(sourceOf(path).getVariableDeclarationOrThrow(name).getInitializerOrThrow());
      return said === stated
        ? []
        : [`${option}: the comment says ${value}, and ${name} in packages/${path} is ${String(said)}`];
    }
    const { wrong, isRight } = judge(node, stated);
    if (wrong.length > 0)
      return wrong.map(
        (one) =>
          `${option}: the comment says ${value}, and ${placeOf(one.node)} has ${one.node.getText().slice(0, 60)}`,
      );
    return isRight || stated === NOTHING
      ? []
      : [`${option}: the comment says ${value}, which no place in the code says`];
  });
}
