import { nearest } from "./nearest.js";

/**
 * The names of a function's options; its type ensures that the list is complete. If an option has options of its own,
 * its value is an object with their names; they are checked too, also in each element of a list.
 */
export type OptionNames<Options> = Readonly<Record<keyof Options, true | object>>;

/**
 * Throws `TypeError` for an option that the function does not have, such as a misspelt limit or an option of another
 * version, which would be ignored silently. Options that are undefined count as omitted.
 */
export function checkOptions<Options extends object>(
  where: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  const value: unknown = options;
  if (typeof value !== "object" || value === null) throw new TypeError(`${where} takes its options as an object`);
  checkNames(where, "", options, names, names);
  const { routers } = options as { readonly routers?: unknown };
  if (routers === undefined) return;
  if (!Array.isArray(routers)) {
    throw new TypeError(`${where} takes a list of routers: routers: [createOrdersRouter(handlers)]`);
  }
  const wrong = routers.findIndex(
    (router: { readonly methods?: unknown } | undefined) => !Array.isArray(router?.methods),
  );
  if (wrong !== -1)
    throw new TypeError(`routers[${wrong}] is not a router: pass what createOrdersRouter(handlers) returns`);
}

/**
 * Returns `call` with a check of the options in its argument number `at`, counted from 0. For the entries of
 * development builds, whose functions are otherwise the same as in production.
 */
export function withOptionCheck<Call extends (...args: never[]) => unknown, const At extends number>(
  where: string,
  call: Call,
  at: At,
  names: OptionNames<NonNullable<Parameters<Call>[At]>>,
): Call {
  const withCheck = (...args: Parameters<Call>): unknown => {
    if (args[at] !== undefined) checkOptions(where, args[at] as NonNullable<Parameters<Call>[At]>, names);
    return call(...(args as never[]));
  };
  return withCheck as Call;
}

/** Checks the names in `options` and in nested options. `path` is the path of `options`, with a dot at the end. */
function checkNames(where: string, path: string, options: object, names: object, all: object): void {
  for (const name of Object.keys(options)) {
    const value: unknown = options[name as keyof typeof options];
    if (value === undefined) continue;
    if (!Object.hasOwn(names, name)) {
      const suggestion = meantBy(path, name, names, all);
      throw new TypeError(
        `${where} has no option ${path}${name}${suggestion === undefined ? "" : `: did you mean ${suggestion}?`}`,
      );
    }
    const expected = wantedInstead(name, value);
    if (expected !== undefined) {
      const kind = typeof value === "object" ? "an object" : `a ${typeof value}`;
      const shownValue = typeof value === "number" || value === null ? String(value) : kind;
      throw new TypeError(`${where}: ${path}${name} is ${expected}, not ${shownValue}`);
    }
    const nestedNames: unknown = names[name as keyof typeof names];
    if (typeof nestedNames !== "object" || nestedNames === null) continue;
    for (const element of Array.isArray(value) ? (value as unknown[]) : [value as unknown]) {
      if (typeof element === "object" && element !== null)
        checkNames(where, `${path}${name}.`, element, nestedNames, all);
    }
  }
}

/** Returns the path of the option that an unknown one stands for: of the same name elsewhere, similar here, or similar elsewhere. */
function meantBy(path: string, name: string, names: object, all: object): string | undefined {
  const same = elsewhere(name, all, 0);
  if (same?.endsWith(`.${name}`) === true) return same;
  const similar = nearest(name, Object.keys(names));
  return similar === undefined ? (same ?? elsewhere(name, all)) : path + similar;
}

/** Returns what the option `name` must be, by the rules for names, if `value` is something else. */
function wantedInstead(name: string, value: unknown): string | undefined {
  if (/^max|Ms$/.test(name) && typeof value !== "number") return "a number";
  if (name.startsWith("max") && !((value as number) >= 0)) return "a number from 0 on";
  if (/^on[A-Z]|^authenticate$/.test(name) && typeof value !== "function") return "a function";
  if (/^(?:advanced|limits)$/.test(name) && (typeof value !== "object" || value === null)) return "an object";
  return undefined;
}

/**
 * Returns the path of the option in `all`, or in the options of its options, with this name or an equivalent one, within
 * `edits` changed letters; undefined if there is none. Shorter paths are preferred.
 */
function elsewhere(name: string, all: object, edits?: number): string | undefined {
  let level: readonly (readonly [path: string, names: object])[] = [["", all]];
  while (level.length > 0) {
    for (const [path, names] of level) {
      const similar = nearest(name, Object.keys(names), edits);
      if (similar !== undefined) return path + similar;
    }
    level = level.flatMap(([path, names]) =>
      Object.entries(names).flatMap(([parent, nestedNames]: [string, unknown]) =>
        typeof nestedNames === "object" && nestedNames !== null ? [[`${path}${parent}.`, nestedNames] as const] : [],
      ),
    );
  }
  return undefined;
}
