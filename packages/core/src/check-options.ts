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
  const given: unknown = options;
  if (typeof given !== "object" || given === null) throw new TypeError(`${where} takes its options as an object`);
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
export function checked<Call extends (...given: never[]) => unknown, const At extends number>(
  where: string,
  call: Call,
  at: At,
  names: OptionNames<NonNullable<Parameters<Call>[At]>>,
): Call {
  const withCheck = (...given: Parameters<Call>): unknown => {
    if (given[at] !== undefined) checkOptions(where, given[at] as NonNullable<Parameters<Call>[At]>, names);
    return call(...(given as never[]));
  };
  return withCheck as Call;
}

/** Checks the names in `given` and in nested options. `path` is the path of `given`, with a dot at the end. */
function checkNames(where: string, path: string, given: object, names: object, all: object): void {
  for (const name of Object.keys(given)) {
    const value: unknown = given[name as keyof typeof given];
    if (value === undefined) continue;
    if (!Object.hasOwn(names, name)) {
      const meant = meantBy(path, name, names, all);
      throw new TypeError(
        `${where} has no option ${path}${name}${meant === undefined ? "" : `: did you mean ${meant}?`}`,
      );
    }
    const wanted = wantedInstead(name, value);
    if (wanted !== undefined) {
      const kind = typeof value === "object" ? "an object" : `a ${typeof value}`;
      const shown = typeof value === "number" || value === null ? String(value) : kind;
      throw new TypeError(`${where}: ${path}${name} is ${wanted}, not ${shown}`);
    }
    const own: unknown = names[name as keyof typeof names];
    if (typeof own !== "object" || own === null) continue;
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value as unknown]) {
      if (typeof one === "object" && one !== null) checkNames(where, `${path}${name}.`, one, own, all);
    }
  }
}

/** Returns the path of the option that an unknown one stands for: of the same name elsewhere, similar here, or similar elsewhere. */
function meantBy(path: string, name: string, names: object, all: object): string | undefined {
  const same = elsewhere(name, all, 0);
  if (same?.endsWith(`.${name}`) === true) return same;
  const near = nearest(name, Object.keys(names));
  return near === undefined ? (same ?? elsewhere(name, all)) : path + near;
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
      const near = nearest(name, Object.keys(names), edits);
      if (near !== undefined) return path + near;
    }
    level = level.flatMap(([path, names]) =>
      Object.entries(names).flatMap(([parent, own]: [string, unknown]) =>
        typeof own === "object" && own !== null ? [[`${path}${parent}.`, own] as const] : [],
      ),
    );
  }
  return undefined;
}
