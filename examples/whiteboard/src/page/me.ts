const KEY = "whiteboard name";
const FIRST = ["Swift", "Quiet", "Bright", "Curious", "Gentle", "Bold", "Merry", "Clever"];
const LAST = ["Otter", "Heron", "Fox", "Lynx", "Robin", "Badger", "Marten", "Wren"];

/** Returns the name entered before or now, or else a made-up one; it is stored for the next visit. */
export function myName(given: string = localStorage.getItem(KEY) ?? ""): string {
  const name = given.trim() || `${anyOf(FIRST)} ${anyOf(LAST)}`;
  localStorage.setItem(KEY, name);
  return name;
}

function anyOf(words: readonly string[]): string {
  return words[Math.floor(Math.random() * words.length)] as string;
}

/** Returns the secret that makes this tab the same participant across lost sessions, servers and reloads. */
export function mySecret(): string {
  const secret = sessionStorage.getItem("whiteboard secret") ?? crypto.randomUUID();
  sessionStorage.setItem("whiteboard secret", secret);
  return secret;
}
