/** Most names in a message. */
const MAX_LISTED = 20;

/**
 * Returns the list of known names that is appended to a message about an unknown one; empty if there are none to show.
 */
export function listed(names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  return ` (there are ${names.slice(0, MAX_LISTED).join(", ")}${more})`;
}
