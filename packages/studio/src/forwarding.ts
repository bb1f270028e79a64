import {
  type CallContext,
  type CallOptions,
  type Caller,
  createLocalCaller,
  interceptCaller,
  Metadata,
  type Router,
  RpcError,
} from "@quicrpc/core";
import { type CallTimings, callTimings } from "@quicrpc/core/measure";
import { ReceivedBlob } from "@quicrpc/core/blobs";
import type { AnyMethod, BlobFields, MessageCodec, StreamSource } from "@quicrpc/core/generated";
import { combineRouters } from "@quicrpc/core/transport";
import { createReflectionClient, describedMethod, reflectionMethods } from "@quicrpc/services";
import { CALL_COMPRESS, CALL_NAME, CALL_VIA, watchCarrier } from "./carrier.js";

/** Receives the timings of a call that was forwarded, by the name that its page gave it. */
export type OnTimings = (call: string, timings: CallTimings) => void;

/** Methods of a target that are forwarded at most: a target is a stranger. */
const MAX_METHODS = 10_000;
const REFLECT_MS = 5000;

/**
 * Makes a router that forwards each method that the target's reflection describes, or `reflection` in its place; messages pass as they are. Where the
 * target cannot be asked, reflection alone is forwarded, so that its caller learns why.
 */
export async function forwardingRouter(target: Caller, onTimings: OnTimings, reflection?: Router): Promise<Router> {
  const forward = (method: AnyMethod): Router["methods"][number] => {
    const passed = passing(method);
    return { method: passed, handler: forwarder(target, passed, onTimings) };
  };
  const asked = reflection === undefined ? target : createLocalCaller([reflection]);
  const described = await describedMethods(asked).catch(() => []);
  const others = described.filter(({ service }) => service.id !== watchCarrier.service.id);
  const own = Object.values(reflectionMethods);
  const isOwn = ({ service }: AnyMethod): boolean => service.name === own[0]?.service.name;
  const describing = reflection?.methods ?? (others.find(isOwn) ? others.filter(isOwn) : own).map(forward);
  try {
    const forwarded = others.filter((method) => !isOwn(method)).map(forward);
    return combineRouters([{ methods: [...forwarded, ...describing] }]);
  } catch {
    // It describes what no server can serve, such as two methods of one id.
    return combineRouters([{ methods: reflection?.methods ?? own.map(forward) }]);
  }
}

async function describedMethods(reflection: Caller): Promise<AnyMethod[]> {
  const { services } = await createReflectionClient(reflection).list({ timeoutMs: REFLECT_MS });
  const all = services.flatMap((service) => service.methods.map((method) => describedMethod(service, method)));
  return all.slice(0, MAX_METHODS);
}

/** The method with its messages as they are on the wire. Whether a call takes effect once is between the page and the target. */
function passing(method: AnyMethod): AnyMethod {
  const side = (codec: MessageCodec<unknown> | undefined): MessageCodec<unknown> | undefined =>
    codec === undefined || codec.bytes === true ? codec : message;
  // Blobs are fields of a message that has been read.
  if (method.blobs !== undefined) return { ...method, once: undefined };
  return { ...method, once: undefined, input: side(method.input), output: side(method.output) };
}

/** A message that nobody looks at: what a decoder makes of it may be less, such as of a map with numbers for keys. */
const message: MessageCodec<unknown> = {
  encode(value, out) {
    const bytes = value as Uint8Array;
    out.reserve(bytes.length);
    out.buffer.set(bytes, out.position);
    out.position += bytes.length;
  },
  decode: (bytes, start, end) => bytes.slice(start, end),
};

function forwarder(target: Caller, method: AnyMethod, onTimings: OnTimings) {
  return (input: unknown, context: CallContext): unknown => {
    const { caller, options } = forwarded(target, context, onTimings);
    switch (method.kind) {
      case "unary": {
        const { input: taken, output: given } = method.blobs?.fields ?? {};
        return passedOn(caller.start(method, resent(input, taken), options).then((answer) => resent(answer, given)));
      }
      case "client_stream":
        return passedOn(caller.start(method, input as StreamSource<unknown>, options));
      case "notify":
        return caller.start(method, input, options);
      case "server_stream":
        return streamed(caller.start(method, input, options));
      case "duplex": {
        const { readable, writable } = caller.start(method, undefined, options);
        // A failure on the way is also the call's, and told there.
        (input as ReadableStream<unknown>).pipeTo(writable).catch(() => {});
        return streamed(readable);
      }
    }
  };
}

/** `message` with its blobs as the other side reads them: each is read from its sender when, and as fast as, its receiver does. */
function resent(message: unknown, fields: BlobFields["input"] = []): unknown {
  if (fields.length === 0 || typeof message !== "object" || message === null) return message;
  const sent: Record<string, unknown> = { ...message };
  for (const { name } of fields) {
    const blob = sent[name];
    if (!(blob instanceof ReceivedBlob)) continue;
    const { length, type, name: file, id } = blob;
    sent[name] = {
      content: () => blob.chunks(),
      type,
      name: file,
      ...(length !== undefined && { length }),
      ...(id !== undefined && { id }),
    };
  }
  return sent;
}

interface Forwarded {
  readonly caller: Caller;
  readonly options: CallOptions;
}

function forwarded(target: Caller, context: CallContext, onTimings: OnTimings): Forwarded {
  const metadata = new Metadata(context.metadata);
  const name = metadata.get(CALL_NAME);
  const via = metadata.get(CALL_VIA);
  const compress = metadata.get(CALL_COMPRESS) === "true";
  for (const key of [CALL_NAME, CALL_VIA, CALL_COMPRESS]) metadata.delete(key);
  const timed = callTimings((timings) => onTimings(String(name), timings));
  return {
    caller: name === undefined ? target : interceptCaller(target, [timed]),
    options: {
      metadata,
      parent: context,
      ...((via === "lane" || via === "stream") && { via }),
      ...(compress && { compress }),
      onResponseMetadata: (received) => {
        copy(received, context.responseMetadata);
        context.sendResponseMetadata();
      },
      onTrailers: (received) => copy(received, context.trailers),
    },
  };
}

async function passedOn(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    throw RpcError.forward(RpcError.from(error));
  }
}

async function* streamed(items: AsyncIterable<unknown>): AsyncGenerator {
  try {
    yield* items;
  } catch (error) {
    throw RpcError.forward(RpcError.from(error));
  }
}

function copy(from: Metadata, to: Metadata): void {
  for (const [key, value] of from) to.append(key, value);
}
