import { DEFAULT_LIMITS } from "@quicrpc/core";
import { nearest } from "./nearest.js";

/** Names of the options of one function, complete by its type. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Throws `TypeError` where options have a name that the function does not know, which would be passed over in silence: a misspelt
 * limit, an option of another version. What is undefined counts as left out.
 */
export function checkOptions<Options extends object>(
  where: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  const given: unknown = options;
  if (typeof given !== "object" || given === null) throw new TypeError(`${where} takes its options as an object`);
  checkNames(where, "option", options, Object.keys(names));
  const { limits, routers } = options as { readonly limits?: unknown; readonly routers?: unknown };
  if (typeof limits === "object" && limits !== null) checkNames(where, "limit", limits, Object.keys(DEFAULT_LIMITS));
  if (routers === undefined || Array.isArray(routers)) return;
  throw new TypeError(`${where} takes a list of routers: routers: [createOrdersRouter(handlers)]`);
}

function checkNames(where: string, what: string, given: object, names: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || names.includes(name)) continue;
    const near = nearest(name, names);
    const hint = near === undefined ? "" : `: did you mean ${near}?`;
    throw new TypeError(`${where} has no ${what} ${name}${hint}`);
  }
}
