import { createHash } from "node:crypto";
import { join } from "node:path";
import { RpcError, type Router } from "@quicrpc/core";
import type { Topics } from "@quicrpc/topics";
import {
  createPageClient,
  createServersTopics,
  createWhiteboardRouter,
  createWhiteboardTopics,
} from "../generated/whiteboard.js";
import { Files } from "./files.js";
import { Lobby } from "./lobby.js";

/** Returns the participant's id. The same secret gives the same participant; the id does not reveal it. */
export function participant(secret: string | undefined): string {
  if (secret === undefined || secret.length < 16) throw new RpcError("unauthenticated", "choose a secret first");
  return createHash("sha256").update(secret).digest().toString("base64url", 0, 12);
}

/**
 * Serves boards with chat and files. Their content is in the history of `topics`, and in files in `folder`: servers
 * that share both act as one. A session's context is its participant's id.
 */
export function whiteboardRouter(topics: Topics, folder: string): Router<string> {
  const readable = { authorize: (access: string) => access === "subscribe" };
  const kept = createWhiteboardTopics<string>(topics, { board: readable, chat: readable });
  const nobody = { authorize: () => false };
  const lobby = new Lobby(createServersTopics(topics, { visits: nobody, pointers: nobody }));
  const files = new Files(join(folder, "files"));

  return createWhiteboardRouter<string>(
    {
      // #region publish
      async change({ room, id, commands }, { connection: by }) {
        await kept.board.publish({ room, message: { by, id, commands } }, { id: `${by}/${id}` });
      },
      // #endregion publish

      join: ({ room, name }, { connection: id, session, signal }) =>
        lobby.join({ person: { id, name: name.trim() }, room, page: createPageClient(session), signal }),

      point: (where, { connection: by }) => lobby.point(by, where),

      async say({ room, id, name, text }, { connection }) {
        const message = { at: new Date(), from: { id: connection, name }, text: text.trim() };
        await kept.chat.publish({ room, message }, { id: `${connection}/${id}` });
      },

      async share({ room, id, name, file }, { connection }) {
        const shared = await files.receive(connection, id, file);
        const message = { at: new Date(), from: { id: connection, name }, text: "", file: shared };
        await kept.chat.publish({ room, message }, { id: `${connection}/${id}` });
      },

      download: async ({ id }) => ({ file: await files.find(id) }),
    },
    kept,
  );
}
