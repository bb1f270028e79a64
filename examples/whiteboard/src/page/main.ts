import { connect } from "@quicrpc/browser";
import { interceptCaller, retry } from "@quicrpc/core";
import { createPageRouter, createWhiteboardClient } from "../generated/whiteboard.js";
import type { ServerInfo } from "../server/site.js";
import { Board } from "./board.js";
import { Chat } from "./chat.js";
import { byId } from "./dom.js";
import { keepUp } from "./keep-up.js";
import { myName, mySecret } from "./me.js";
import { Panel } from "./panel.js";
import { People } from "./people.js";
import { takePen } from "./pen.js";
import { acceptFiles } from "./upload.js";

/** The room is the fragment of the address, after the #. */
const room = /^#([\w-]{1,40})$/.exec(location.hash)?.[1] ?? "lobby";
addEventListener("hashchange", () => location.reload());

const panel = new Panel();
const people = new People();

const connection = await open().catch((error: unknown) => {
  byId("status").dataset["status"] = "closed";
  byId("status").textContent = error instanceof Error ? error.message : String(error);
  throw error;
});
void panel.follow(connection);
// #region client
// As long as the page is there, what was done in it is sent until a server has taken it.
const patient = retry({ maxAttempts: Infinity, maxTokens: 10_000 });
const client = createWhiteboardClient(interceptCaller(connection, [panel.counting, patient]));
// #endregion client
const field = byId<HTMLInputElement>("name");
field.value = myName();
const board = new Board(client, room);
// For the curious at the browser's console.
Object.assign(globalThis, { board });
const chat = new Chat(client, room, people, () => field.value);
acceptFiles((id, file, signal) => client.share({ room, id, name: field.value, file }, { signal }));
takePen(board, (point) => {
  // Nobody waits for a cursor that could not be sent.
  createWhiteboardClient(connection)
    .point({ room, ...point }, { waitForReady: false })
    .catch(() => {});
});

/** Aborted when the room must be joined again under another name. */
let visit = new AbortController();
field.addEventListener("change", () => {
  field.value = myName(field.value);
  visit.abort();
});
const forever = new AbortController().signal;
void keepUp(forever, () => board.follow());
for (;;) {
  visit = new AbortController();
  await keepUp(visit.signal, () => join(visit.signal));
}

async function open(): ReturnType<typeof connect> {
  const { url, fallbackUrl, certificateHash } = (await (await fetch("/server.json")).json()) as ServerInfo;
  const router = createPageRouter({
    cursor: (cursor) => {
      panel.cursorCame(cursor.count);
      people.point(cursor);
    },
  });
  return connect(url, {
    credentials: mySecret(),
    ...(certificateHash !== undefined && {
      serverCertificateHashes: [{ algorithm: "sha-256", value: bytesOf(certificateHash) }],
    }),
    ...(fallbackUrl !== undefined && { fallback: { url: fallbackUrl } }),
    routers: [router],
  });
}

/** Takes part in the room until the signal fires, across lost sessions and on any server. */
async function join(signal: AbortSignal): Promise<void> {
  let last = "";
  const turns = client.join({ room, name: field.value }, { signal, resumeForMs: Infinity });
  for await (const { visit, you, people: present } of turns) {
    people.show(present);
    chat.begin(you);
    if (visit !== last) panel.visitBegan();
    last = visit;
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
