/** The location within the page: the method that is shown, and its initial input. */
export interface PageLocation {
  readonly service?: string;
  readonly method?: string;
  /** The input in a link, as text. */
  readonly input?: string;
}

const TOKEN_KEY = "quicrpc-studio:token";

/** Removes the token from the address, so that copied links do not contain it. It is kept for this tab. */
export function takeToken(): string | undefined {
  const match = /^#token=([\w-]+)(.*)$/.exec(location.hash);
  if (match === null) return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
  const [, token = "", path = ""] = match;
  sessionStorage.setItem(TOKEN_KEY, token);
  history.replaceState(undefined, "", `${location.pathname}${location.search}${path === "" ? "" : `#${path}`}`);
  return token;
}

/** Parses the address: "#/service/method?input=…". */
export function locationOf(hash: string): PageLocation {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  const [, service, method] = path.split("/").map(decoded);
  const input = new URLSearchParams(query).get("input") ?? undefined;
  return { ...(service && { service }), ...(method && { method }), ...(input !== undefined && { input }) };
}

/** Returns the address of a place. */
export function locationHash({ service = "", method = "", input }: PageLocation): string {
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
