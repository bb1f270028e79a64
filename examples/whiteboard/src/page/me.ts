const KEY = "whiteboard name";
const FIRST = ["Swift", "Quiet", "Bright", "Curious", "Gentle", "Bold", "Merry", "Clever"];
const LAST = ["Otter", "Heron", "Fox", "Lynx", "Robin", "Badger", "Marten", "Wren"];

/** The name that was given before, or now, or else one that is made up; it is kept for the next visit. */
export function myName(given: string = localStorage.getItem(KEY) ?? ""): string {
  const name = given.trim() || `${anyOf(FIRST)} ${anyOf(LAST)}`;
  localStorage.setItem(KEY, name);
  return name;
}

function anyOf(words: readonly string[]): string {
  return words[Math.floor(Math.random() * words.length)] as string;
}

/** Secret that makes this tab the same participant over lost sessions, other servers and reloads. */
export function mySecret(): string {
  const secret = sessionStorage.getItem("whiteboard secret") ?? crypto.randomUUID();
  sessionStorage.setItem("whiteboard secret", secret);
  return secret;
}
