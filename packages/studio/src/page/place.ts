/** Where the page is: the method that is shown, and what it was opened with. */
export interface Place {
  readonly service?: string;
  readonly method?: string;
  /** The input that a link brings along, as text. */
  readonly input?: string;
}

const TOKEN_KEY = "quicrpc-studio:token";

/** Takes the token out of the address, where it would be copied with links; this tab keeps it. */
export function takeToken(): string | undefined {
  const found = /^#token=([\w-]+)(.*)$/.exec(location.hash);
  if (found === null) return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
  const [, token = "", rest = ""] = found;
  sessionStorage.setItem(TOKEN_KEY, token);
  history.replaceState(undefined, "", `${location.pathname}${location.search}${rest === "" ? "" : `#${rest}`}`);
  return token;
}

/** Reads the address: "#/service/method?input=…". */
export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  const [, service, method] = path.split("/").map(decoded);
  const input = new URLSearchParams(query).get("input") ?? undefined;
  return { ...(service && { service }), ...(method && { method }), ...(input !== undefined && { input }) };
}

/** The address of a place. */
export function hashOf({ service = "", method = "", input }: Place): string {
  const path = `#/${encodeURIComponent(service)}/${encodeURIComponent(method)}`;
  return input === undefined ? path : `${path}?${new URLSearchParams({ input }).toString()}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
