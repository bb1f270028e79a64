// Topics that several tests serve, described by hand.
import { RpcError } from "@quicrpc/core";
import { defineMethod, type Router, zodCodec } from "@quicrpc/core/generated";
import type { Topics } from "@quicrpc/topics";
import {
  createTopicRouter,
  type ServedTopic,
  type ServedTopicOptions,
  type ServedTopics,
  serveTopics,
} from "@quicrpc/topics/generated";
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
  publishLog: defineMethod(service, "unary", "publishLog", {
    id: 3,
    input: zodCodec(z.object({ id: z.string(), message })),
  }),
  subscribeLog: defineMethod(service, "server_stream", "subscribeLog", {
    id: 4,
    input: zodCodec(z.object({ id: z.string() })),
    output: zodCodec(z.object({ message: message.optional(), position: z.string() })),
    cursor: { field: "position" },
  }),
};

/** A message as subscribers get it. */
export interface RoomItem {
  message: Message;
  lost?: number | undefined;
}

/** The same of a topic with history. */
export interface LogItem {
  message?: Message | undefined;
  position: string;
}

export interface Rooms extends ServedTopics {
  /** Undefined for topics without history. */
  readonly log: ServedTopic<{ id: string; message: Message }, { id: string }, LogItem>;
  readonly room: ServedTopic<{ id: string; message: Message }, { id: string }, RoomItem>;
}

export const everybody: ServedTopicOptions<unknown> = { authorize: "everybody" };

/** @param history whether the topics are such that can keep any */
export function serveRooms(topics: Topics, options = everybody, history = true): Rooms {
  const patterns = { room: "room.{id}", ...(history && { log: "log.{id}" }) };
  return serveTopics(roomMethods, patterns, topics, { room: options, ...(history && { log: options }) });
}

export function routerOf(rooms: Rooms): Router {
  const refuse = (): never => {
    throw new RpcError("unimplemented", "this server keeps no history");
  };
  return createTopicRouter(
    roomMethods,
    rooms.log === undefined ? { publishLog: refuse, subscribeLog: refuse } : {},
    rooms,
  );
}
