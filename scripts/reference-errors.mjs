// Writes the page of error codes from the types, constants and comments that declare them.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Node, SyntaxKind } from "ts-morph";
import { cell, commentsBefore, constantsOf, literalOf, oneLine, sourceOf } from "./docstrings.mjs";
import { table } from "./docs.mjs";

const PACKAGES = fileURLToPath(new URL("../packages/", import.meta.url));
const CODES = ["core/src/codes.ts", "CODES"];
const STATUSES = ["http/src/protocol/codes.ts", "STATUSES"];
const HINTS = "node/src/transport/failure.ts";
/** Interfaces whose members are codes of errors. */
const CATALOGUES = {
  connecting: [
    ["quic/src/error-codes.ts", "QuicErrorCodes", ["tls", "system", "usage", "session"]],
    ["node/src/transport/failure.ts", "NodeErrorCodes"],
    ["browser/src/unreached.ts", "UnreachedCodes"],
    ["fails-components/src/package.ts", "FailsErrorCodes"],
  ],
  draining: [["core/src/connection/route.ts", "RouteErrorCodes"]],
};

const faults = [];

/** A table of strings whose values may be named constants of the same file. */
function textsOf(path, name) {
  const literal = literalOf(path, name, SyntaxKind.ObjectLiteralExpression);
  const file = literal.getSourceFile();
  return new Map(
    literal.getProperties().map((property) => {
      const value = property.getInitializerOrThrow();
      const text = Node.isIdentifier(value)
        ? file.getVariableDeclarationOrThrow(value.getText()).getInitializerOrThrow()
        : value;
      return [property.getName(), text.getLiteralText()];
    }),
  );
}

/** The comment of something, which has to have one: when it happens, and what to do. */
function said(comments, name) {
  const [when = "", what = ""] = comments.get(name) ?? [];
  if (when === "") faults.push(`${name} has no comment`);
  return [cell(when), cell(what)];
}

function codesOfCalls() {
  const elements = literalOf(...CODES, SyntaxKind.ArrayLiteralExpression).getElements();
  const comments = commentsBefore(elements);
  const statuses = constantsOf(...STATUSES);
  return elements.slice(1).map((element, index) => {
    const code = element.getLiteralValue();
    return [`\`${code}\``, index + 1, statuses.get(code), ...said(comments, code)];
  });
}

/** A hint of the runtime as a sentence. */
function sentence(hint) {
  return hint === undefined ? undefined : cell(`${hint.charAt(0).toUpperCase()}${hint.slice(1)}.`);
}

function membersOf([path, name]) {
  return sourceOf(path).getInterfaceOrThrow(name).getProperties();
}

function codesOfErrors(catalogues, hints) {
  return catalogues.flatMap((catalogue) => {
    const members = membersOf(catalogue);
    const comments = commentsBefore(members);
    return members.map((member) => {
      const code = member.getName();
      const [when, what] = said(comments, code);
      const sources = member.getTypeNodeOrThrow().getText().replaceAll('"', "").replaceAll(" | ", ", ");
      return { code, sources, when, what: [sentence(hints.get(code)) ?? "", what].join(" ").trim() };
    });
  });
}

/** Codes that programs make and that no interface declares, and the other way round. */
function undeclared() {
  const declared = new Set(
    Object.values(CATALOGUES)
      .flat()
      .flatMap(membersOf)
      .map((member) => member.getName()),
  );
  const used = new Set();
  for (const name of readdirSync(PACKAGES, { encoding: "utf8", recursive: true })) {
    if (!/^[\w-]+\/(?:src|native\/src)\/.*\.(?:ts|rs)$/.test(name) || /\.test\.ts$|error-codes\.ts$/.test(name))
      continue;
    const text = readFileSync(`${PACKAGES}${name}`, "utf8");
    for (const [, code] of text.matchAll(
      /"(ERR_(?:QUIC|TLS|FAILS|GOAWAY|WEBTRANSPORT|TRANSPORT|UNREACHABLE|FORBIDDEN)\w*)"/g,
    ))
      used.add(code);
  }
  return [
    ...[...used].filter((code) => !declared.has(code)).map((code) => `no interface of codes has ${code}`),
    ...[...declared]
      .filter((code) => code.startsWith("ERR_") && !used.has(code))
      .map((code) => `nothing fails with ${code}`),
  ];
}

function rowsOfConstants(path, names) {
  const file = sourceOf(path);
  return names.map((name) => {
    const declaration = file.getVariableDeclarationOrThrow(name);
    const statement = declaration.getVariableStatementOrThrow();
    const text = oneLine(statement.getJsDocs().at(-1)?.getDescription() ?? "");
    if (text === "") faults.push(`${name} has no comment`);
    return [`\`${declaration.getInitializerOrThrow().getText()}\``, cell(text)];
  });
}

function sessionCodes() {
  const literal = literalOf("core/src/transport/close-codes.ts", "SessionCode", SyntaxKind.ObjectLiteralExpression);
  const comments = commentsBefore(literal.getProperties());
  return literal
    .getProperties()
    .map((property) => [`\`${property.getInitializerOrThrow().getText()}\``, said(comments, property.getName())[0]]);
}

function declaredErrors() {
  const cursors = literalOf("core/src/contract/cursor.ts", "CURSOR_ERRORS", SyntaxKind.ObjectLiteralExpression);
  const comments = commentsBefore(cursors.getProperties());
  return cursors.getProperties().map((property) => {
    const [, code] = /code: "(\w+)"/.exec(property.getText());
    return [`\`${property.getName()}\``, `\`${code}\``, said(comments, property.getName())[0]];
  });
}

function onceFailures() {
  const literal = literalOf("core/src/server/once/once-failure.ts", "FAILURES", SyntaxKind.ObjectLiteralExpression);
  const comments = commentsBefore(literal.getProperties());
  return literal
    .getProperties()
    .map((property) => [
      `\`${property.getName()}\``,
      `\`${property.getInitializerOrThrow().getLiteralText()}\``,
      said(comments, property.getName())[0],
    ]);
}

function inferredStatuses() {
  const pairs = literalOf("http/src/protocol/codes.ts", "INFERRED", SyntaxKind.ArrayLiteralExpression).getElements();
  return pairs.map((pair) => {
    const [status, code] = pair.getElements();
    return [status.getText(), `\`${code.getLiteralText()}\``];
  });
}

function exitCodes() {
  const codes = literalOf("cli/src/target.ts", "EXIT", SyntaxKind.ObjectLiteralExpression).getProperties();
  const comments = commentsBefore(codes);
  return codes.map((code) => [code.getInitializerOrThrow().getText(), said(comments, code.getName())[0]]);
}

/** The page; and what keeps it from being whole. */
export function errorsPage() {
  const dialled = textsOf(HINTS, "DIALLED");
  const listened = textsOf(HINTS, "LISTENED");
  const answered = textsOf(HINTS, "ANSWERED");
  const own = codesOfErrors(CATALOGUES.connecting, dialled);
  const ofStreams = ({ sources }) => sources === "stream";
  const ofUsage = ({ sources }) => sources === "usage";
  const named = new Set(own.map(({ code }) => code));
  const rows = (list) => list.map(({ code, when, what }) => [`\`${code}\``, when, what]);
  const systems = [...dialled].filter(([code]) => !named.has(code));
  const HEAD = ["| code | when | what to do |", "|---|---|---|"];
  const text = `# Error codes

Every error has a \`code\`: look it up here. This page is written from the code by \`npm run reference:docs\`. [Errors](errors.md) says how to throw and to catch them.

## Codes of calls

\`RpcError.code\`. They are gRPC's sixteen, spelled as Connect does. \`nr\` is the number on the wire. \`status\` is the HTTP status over [plain HTTP](http.md).

${table(["| code | nr | status | when | what to do |", "|---|--:|--:|---|---|"], codesOfCalls())}

A call can fail before it leaves: an input that does not fit (\`invalid_argument\`), a deadline that is over, a limit of this side, a connection that is closed. Such errors have the same codes, and \`refused: true\` says
that no handler was entered.

### Reasons that the library declares

\`RpcError.reason\` is the name of an error that a method's schema declares. Methods whose items have a [\`cursor\`](durable.md) declare two by themselves:

${table(["| reason | code | when |", "|---|---|---|"], declaredErrors())}

For calls of methods that are [\`once\`](once.md), \`onceFailure(error)\` returns one of these:

${table(["| outcome | code | when |", "|---|---|---|"], onceFailures())}

### Statuses that say nothing more

An answer over HTTP that has an error's status and no error of the Connect protocol, such as a proxy's, is read so. Every other status is \`unknown\`.

${table(["| status | code |", "|--:|---|"], inferredStatuses())}

## Codes of connections

\`TransportError.code\`, of \`connect\`, \`dial\` and \`serve\`. \`hint\` of the error says what to do, too.

${table(HEAD, rows(own.filter((row) => !ofStreams(row) && !ofUsage(row))))}

The system and TLS have codes of their own, which are as Node has them:

${table(
  ["| code | what to do |", "|---|---|"],
  [...systems, ...listened].map(([code, hint]) => [`\`${code}\``, sentence(hint)]),
)}

Where a server, or a proxy before it, answers the request for a session with another status than success, the status decides:

${table(
  ["| status | what to do |", "|--:|---|"],
  Array.from(answered, ([status, hint]) => [status, sentence(hint)]),
)}

## Codes while a server drains

A server that drains can name another one ([more](durable.md)). \`onError\` of the connection receives why an address is not followed.

${table(HEAD, rows(codesOfErrors(CATALOGUES.draining, new Map())))}

## Codes of the engine

\`QuicError.code\`, of what one uses without calls: [\`@quicrpc/quic\`](../packages/quic/README.md). \`source\` says where the error arose. The codes above are the engine's, too. Of usage and streams there are these as well:

${table(
  ["| code | source | when |", "|---|---|---|"],
  own.filter((row) => ofStreams(row) || ofUsage(row)).map(({ code, sources, when }) => [`\`${code}\``, sources, when]),
)}

## Numbers on the wire

Codes that a session is closed with, by \`CONNECTION_CLOSE\` or a WebTransport close. \`SessionEnd.closeCode\` has them.

${table(["| close code | when |", "|---|---|"], [["`0`", "Nothing is wrong: the session has ended."], ...sessionCodes()])}

Codes that a stream is reset or stopped with. A call's status code has its number, 1 to 16.

${table(
  ["| stream code | when |", "|---|---|"],
  [
    ["`0`", "Nothing is wrong: no more items are wanted."],
    ...rowsOfConstants("core/src/transport/reset-code.ts", ["ProtocolError", "UnknownKind", "TooManyStreams"]),
  ],
)}

## Exit codes

Of the command [\`quicrpc\`](cli.md):

${table(["| code | meaning |", "|--:|---|"], exitCodes())}

An option that does not exist, or one of the wrong type, is a \`TypeError\` with a guess at what was meant. It has no code.
`;
  return { text, faults: [...faults, ...undeclared()] };
}
