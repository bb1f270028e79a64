// Topics that several tests serve, described by hand.
import {
  createTopicRouter,
  defineMethod,
  type Router,
  type ServedTopic,
  type ServedTopicOptions,
  type ServedTopics,
  serveTopics,
  zodCodec,
} from "@quicrpc/core/generated";
import type { Topics } from "@quicrpc/core/topics";
import { z } from "zod";

const service = { name: "test.v1.Rooms", id: 4715 };
const message = z.object({ n: z.int(), text: z.string() });
type Message = z.infer<typeof message>;

export const roomMethods = {
  publishRoom: defineMethod(service, "unary", "publishRoom", {
    id: 1,
    input: zodCodec(z.object({ id: z.string(), message })),
  }),
  subscribeRoom: defineMethod(service, "server_stream", "subscribeRoom", {
    id: 2,
    input: zodCodec(z.object({ id: z.string() })),
    output: zodCodec(z.object({ message, lost: z.int().optional() })),
  }),
};

/** A message as subscribers get it. */
export interface RoomItem {
  message: Message;
  lost?: number | undefined;
}

export interface Rooms extends ServedTopics {
  readonly room: ServedTopic<{ id: string; message: Message }, { id: string }, RoomItem>;
}

export const everybody: ServedTopicOptions<unknown> = { authorize: "everybody" };

export function serveRooms(topics: Topics, options = everybody): Rooms {
  return serveTopics(roomMethods, { room: "room.{id}" }, topics, { room: options });
}

export function routerOf(rooms: Rooms): Router {
  return createTopicRouter(roomMethods, {}, rooms);
}
