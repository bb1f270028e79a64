/**
 * An option that needs a capability of the transport: the option, the capability, what a transport without it lacks, and
 * optionally what to use instead.
 */
export type OptionNeed = readonly [option: string, capability: string, lack: string, instead?: string];

/** The capabilities of a transport that options may need. Those not named are missing. */
interface AbleTransport {
  readonly name: string;
  readonly capabilities: object;
}

/** Needs of the options of a client session, on every platform. */
export const SESSION_NEEDS: readonly OptionNeed[] = [
  [
    "proof",
    "sessions",
    "has no sessions, in which a client proves its key",
    "leave it out, or connect by a transport with sessions, such as WebTransport or a WebSocket",
  ],
  ["metadata", "sessions", "has no sessions, whose greeting carries it", "give each call its metadata"],
];

/**
 * Explains an option that the transport of `url` cannot support, and what to do; otherwise it would be ignored
 * silently. Returns undefined if the transport supports all options. Options that are undefined, false or an empty list
 * count as omitted.
 */
export function refusedOption(
  url: string,
  { name, capabilities }: AbleTransport,
  options: object,
  needs: readonly OptionNeed[],
): string | undefined {
  const values = options as Readonly<Record<string, unknown>>;
  const able = capabilities as Readonly<Record<string, unknown>>;
  // Without iterators, because each dial comes through here.
  const refused = needs.find((need) => isGiven(values[need[0]]) && able[need[1]] !== true);
  if (refused === undefined) return undefined;
  const [option, , lack, instead = "leave it out, or connect by another transport"] = refused;
  return `the option ${option} cannot travel to ${url} by ${name}, which ${lack}: ${instead}`;
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
}
