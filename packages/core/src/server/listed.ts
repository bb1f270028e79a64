/** Names in a message. */
const MAX_LISTED = 20;

/** Returns what follows a message about a name that is not known: the names that are. Empty where there are none to tell. */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return ` (there are ${names.slice(0, MAX_LISTED).join(", ")}${more})`;
}
