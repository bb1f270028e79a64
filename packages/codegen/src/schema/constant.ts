import { Session } from "node:inspector";

/**
 * Returns true if a default is a constant value. zod keeps a default value, or the function that creates it, in the
 * closure of a getter, which only Node's inspector can read. If it cannot be read, returns false.
 */
export function isConstantDefault(def: object): boolean {
  let answer = answers.get(def);
  if (answer === undefined) answers.set(def, (answer = findConstant(def)));
  return answer;
}

const answers = new WeakMap<object, boolean>();

function findConstant(def: object): boolean {
  const property: Readonly<Record<string, unknown>> = { ...Object.getOwnPropertyDescriptor(def, "defaultValue") };
  if (property["get"] === undefined) return true;
  const type = closureVariable(property["get"], "defaultValue")?.type;
  return type !== "function" && type !== undefined;
}

/** Returns true if `value` can be written as a JavaScript expression. */
export function isPrintable(value: unknown): boolean {
  if (typeof value !== "object") return typeof value !== "function" && typeof value !== "symbol";
  if (value === null || value instanceof Date) return true;
  if (Array.isArray(value)) return value.every(isPrintable);
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    (prototype === Object.prototype || prototype === null) &&
    Object.entries(value).every(([key, each]) => key !== "__proto__" && isPrintable(each))
  );
}

const HANDLE = "__quicrpcInspected";

/** Returns true if `run`, a check created by `superRefine`, calls an asynchronous function. */
export function callsAsync(run: unknown): boolean {
  return closureVariable(run, "fn")?.className === "AsyncFunction";
}

/**
 * Returns the variable `name` from the innermost scope of the function `run` that declares it; undefined if none does.
 */
function closureVariable(run: unknown, name: string): RemoteObject | undefined {
  const session = new Session();
  const globals = globalThis as Record<string, unknown>;
  try {
    session.connect();
    globals[HANDLE] = run;
    const inspected = ask(session, "Runtime.evaluate", { expression: `globalThis.${HANDLE}` });
    const closure = propertiesOf(session, inspected?.["result"]);
    const scopes = propertiesOf(session, closure.internal.find((each) => each.name === "[[Scopes]]")?.value);
    for (const scope of scopes.own) {
      const found = propertiesOf(session, scope.value).own.find((each) => each.name === name);
      if (found !== undefined) return found.value;
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    delete globals[HANDLE];
    session.disconnect();
  }
}

interface RemoteObject {
  readonly type?: string;
  readonly className?: string;
  readonly objectId?: string;
}
interface RemoteProperty {
  readonly name: string;
  readonly value?: RemoteObject;
}

function propertiesOf(session: Session, object: unknown): { own: RemoteProperty[]; internal: RemoteProperty[] } {
  const { objectId } = (object ?? {}) as RemoteObject;
  if (objectId === undefined) return { own: [], internal: [] };
  const answer = ask(session, "Runtime.getProperties", { objectId, ownProperties: true });
  return {
    own: (answer?.["result"] ?? []) as RemoteProperty[],
    internal: (answer?.["internalProperties"] ?? []) as RemoteProperty[],
  };
}

/** Returns the inspector's response. It arrives before `post` returns, because the session is in the same thread. */
function ask(session: Session, method: string, params: object): Record<string, unknown> | undefined {
  let answer: Record<string, unknown> | undefined;
  session.post(method, params, (_error, result) => {
    answer = result as Record<string, unknown> | undefined;
  });
  return answer;
}
