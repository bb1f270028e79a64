import type { Lane } from "./remote.js";

/** A kind of session with an end in a page: its name in the behaviours, and those that it cannot show. */
export interface PageKind {
  readonly lane: Lane;
  readonly name: string;
  /** Name of the kind that runs all files of behaviours; this one runs those that depend on the browser, the transport or the client. */
  readonly like?: string;
  /** A behaviour's number, and why. */
  readonly exceptions: ReadonlyMap<string, string>;
}

const RAW = "a peer that sends bytes of its own has both ends in Node; what reads them is core, the same in a page";
const ofPages: readonly (readonly [string, string])[] = [
  ["C48", RAW],
  ["C55", RAW],
  ["C57", RAW],
  ["C58", RAW],
  ["C59", RAW],
  ["C61", RAW],
  ["C67", "a browser tells a page only that the connection failed"],
  ["C68", "pages have no certificates"],
  ["C71", "what is reachable only Node says; the queue of items is core, the same in a page"],
];
const SERVED_ELSEWHERE = "sessions follow each other at a server in the page, and the package's server is in Node";
const ofOneStream: readonly (readonly [string, string])[] = [
  ["C65", "there is no limit of streams: all calls share one"],
  ["C69", "one byte stream carries one protocol"],
];

const WHOLE = "a page, WebTransport";

export const pageKinds: readonly PageKind[] = [
  { lane: "webtransport", name: WHOLE, exceptions: new Map(ofPages) },
  { lane: "firefox", name: "a page in Firefox, WebTransport", like: WHOLE, exceptions: new Map(ofPages) },
  {
    lane: "connectWebTransport",
    name: "a page, its smaller client",
    like: WHOLE,
    exceptions: new Map([
      ...ofPages,
      ["C15", "a client session serves nothing"],
      ["C63", "the kills are over WebTransport by `connect`, whose streams are the same"],
      ["C66", "what is left is counted over WebTransport by `connect`, whose streams are the same"],
    ]),
  },
  { lane: "websocket", name: "a page, WebSocket", like: WHOLE, exceptions: new Map([...ofPages, ...ofOneStream]) },
  {
    lane: "ponyfill",
    name: "a page, ponyfill of fails",
    like: WHOLE,
    exceptions: new Map([
      ...ofPages,
      ...ofOneStream,
      ["C66", "what the package keeps of its own is not counted"],
      ["C80", SERVED_ELSEWHERE],
      ["C81", SERVED_ELSEWHERE],
      ["C85", SERVED_ELSEWHERE],
      ["C86", SERVED_ELSEWHERE],
      ["C87", SERVED_ELSEWHERE],
    ]),
  },
];
