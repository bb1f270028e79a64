import type * as morph from "ts-morph";
import { ts } from "../source/compiler.js";
import { importText } from "./imports.js";

/** The name that generated files give to the namespace of `@quicrpc/core/generated`. */
export const WIRE: string = "wire";

const CORE_VALUES: readonly string[] = [
  "createRouter",
  "describeMethod",
  "bytesCodec",
  "unaryCalls",
  "notifyCalls",
  "datagramCalls",
  "serverStreamCalls",
  "clientStreamCalls",
  "duplexCalls",
];
const CORE_TYPES: readonly string[] = [
  "Any",
  "Awaitable",
  "CallContext",
  "CallOptions",
  "Caller",
  "DuplexStream",
  "ErrorDescriptor",
  "ItemStream",
  "MethodDescriptor",
  "Router",
  "RpcErrorOf",
  "ServiceIdentity",
  "StreamSource",
];
/** What generated files have by name of `@quicrpc/core/generated`. */
export const CORE_IMPORTS: readonly string[] = [...CORE_VALUES, ...CORE_TYPES, "MessageCodec", WIRE];

/** The import of what the code in `text` uses of `@quicrpc/core/generated`. */
export function coreImport(text: string): string {
  const used = namesIn(ts.createSourceFile("generated.ts", text, ts.ScriptTarget.ESNext, true));
  const values = CORE_VALUES.filter((name) => used.has(name));
  const types = CORE_TYPES.filter((name) => used.has(name));
  return values.length === 0
    ? importText("import type", types, "@quicrpc/core/generated")
    : importText("import", [...values, ...types.map((name) => `type ${name}`)], "@quicrpc/core/generated");
}

/** The names that the code of `file` refers to, those of members aside. */
function namesIn(file: morph.ts.SourceFile): Set<string> {
  const names = new Set<string>();
  const visit = (node: morph.ts.Node): void => {
    if (ts.isIdentifier(node) && !isMember(node)) names.add(node.text);
    node.forEachChild(visit);
  };
  visit(file);
  return names;
}

function isMember(name: morph.ts.Identifier): boolean {
  const { parent } = name;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === name;
  const isElement = ts.isTypeElement(parent) || ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent);
  return isElement && parent.name === name;
}
