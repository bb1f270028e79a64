import {
  type CallContext,
  type CallOptions,
  type Caller,
  type Code,
  createLocalCaller,
  interceptCaller,
  Metadata,
  type Router,
  RpcError,
} from "@quicrpc/core";
import { type CallTimings, callTimings } from "@quicrpc/core/measure";
import { ReceivedBlob } from "@quicrpc/blobs";
import {
  type AnyMethod,
  type BlobFields,
  type ErrorDescriptor,
  type MessageCodec,
  type StreamSource,
  uncheckedCodec,
  combineRouters,
} from "@quicrpc/core/generated";
import { createReflectionClient, describedMethod, reflectionMethods } from "@quicrpc/services";
import { CALL_COMPRESS, CALL_NAME, CALL_VIA, watchCarrier } from "./carrier.js";

/** Called with the timings of a forwarded call, and with the name that the page gave to the call. */
export type OnTimings = (call: string, timings: CallTimings) => void;

/** Maximum number of methods that are forwarded. Limited because the server is not trusted. */
const MAX_METHODS = 10_000;
const REFLECT_MS = 5000;

/**
 * Creates a router that forwards calls to the methods that the server's reflection, or `reflection` if it is given,
 * describes. Messages are not decoded. If the server does not answer, the router forwards only reflection calls, so
 * that the caller receives the server's error.
 */
export async function forwardingRouter(target: Caller, onTimings: OnTimings, reflection?: Router): Promise<Router> {
  const forward = (method: AnyMethod): Router["methods"][number] => {
    const errors = new PassedErrors();
    const forwardedMethod = { ...passing(method), errors: errors.known };
    return { method: forwardedMethod, handler: forwarder(target, forwardedMethod, onTimings, errors) };
  };
  const describedBy = reflection === undefined ? target : createLocalCaller([reflection]);
  const described = await describedMethods(describedBy).catch(() => []);
  const otherServices = described.filter(({ service }) => service.id !== watchCarrier.service.id);
  const ownMethods = Object.values(reflectionMethods);
  const isOwn = ({ service }: AnyMethod): boolean => service.name === ownMethods[0]?.service.name;
  const describing =
    reflection?.methods ?? (otherServices.find(isOwn) ? otherServices.filter(isOwn) : ownMethods).map(forward);
  try {
    const forwarded = otherServices.filter((method) => !isOwn(method)).map(forward);
    return combineRouters([{ methods: [...forwarded, ...describing] }]);
  } catch {
    // The description is invalid, such as two methods with the same id.
    return combineRouters([{ methods: reflection?.methods ?? ownMethods.map(forward) }]);
  }
}

async function describedMethods(reflection: Caller): Promise<AnyMethod[]> {
  const { services } = await createReflectionClient(reflection).list({ timeoutMs: REFLECT_MS });
  // The page and the target handle `once` between them.
  const all = services.flatMap((service) =>
    service.methods.map((method) => describedMethod(service, { ...method, once: undefined })),
  );
  return all.slice(0, MAX_METHODS);
}

/** Maximum number of error names that are stored for each method. */
const MAX_ERRORS = 100;

const unchecked = uncheckedCodec<unknown>();
/** Passes the details of an error without decoding them. */
const details: MessageCodec<unknown> = {
  encode: (value, out) => {
    if (value !== undefined) unchecked.encode(value, out);
  },
  decode: (bytes, start, end) => unchecked.decode(bytes, start, end),
};

/**
 * Declared errors of a forwarded method, which are added when they occur. They are necessary because only the names of
 * declared errors are sent.
 */
class PassedErrors {
  readonly known: Record<string, ErrorDescriptor<Code, unknown, unknown>> = Object.create(null) as never;
  private count = 0;

  /** Returns the server's error in the form that a handler throws. */
  forwardedError(error: unknown): RpcError {
    const { code, reason } = RpcError.from(error);
    if (reason !== undefined && !Object.hasOwn(this.known, reason) && this.count++ < MAX_ERRORS)
      this.known[reason] = { code, details };
    return RpcError.forward(RpcError.from(error));
  }
}

/** Returns a copy of a method that passes messages without decoding them. */
function passing(method: AnyMethod): AnyMethod {
  const side = (codec: MessageCodec<unknown> | undefined): MessageCodec<unknown> | undefined =>
    codec === undefined || codec.bytes === true ? codec : message;
  // Blobs are fields of decoded messages.
  if (method.blobs !== undefined) return method;
  return { ...method, input: side(method.input), output: side(method.output) };
}

/** Passes a message without decoding it. Decoding could lose information, such as the number keys of a map. */
const message: MessageCodec<unknown> = {
  encode(value, out) {
    const bytes = value as Uint8Array;
    out.reserve(bytes.length);
    out.buffer.set(bytes, out.position);
    out.position += bytes.length;
  },
  decode: (bytes, start, end) => bytes.slice(start, end),
};

function forwarder(target: Caller, method: AnyMethod, onTimings: OnTimings, errors: PassedErrors) {
  return (input: unknown, context: CallContext): unknown => {
    const { caller, options } = forwarded(target, context, onTimings);
    switch (method.kind) {
      case "unary": {
        const { input: inputBlobs, output: outputBlobs } = method.blobs?.fields ?? {};
        return passedOn(
          caller
            .start(method, withForwardedBlobs(input, inputBlobs), options)
            .then((response) => withForwardedBlobs(response, outputBlobs)),
          errors,
        );
      }
      case "client_stream":
        return passedOn(caller.start(method, input as StreamSource<unknown>, options), errors);
      case "notify":
        return caller.start(method, input, options);
      case "server_stream":
        return streamed(caller.start(method, input, options), errors);
      case "duplex": {
        const { readable, writable } = caller.start(method, undefined, options);
        // The call reports a failure of the pipe too.
        (input as ReadableStream<unknown>).pipeTo(writable).catch(() => {});
        return streamed(readable, errors);
      }
    }
  };
}

/**
 * Returns a copy of `message` whose blobs are forwarded. Each blob is read from its sender when its receiver reads it,
 * and as fast as that.
 */
function withForwardedBlobs(message: unknown, fields: BlobFields["input"] = []): unknown {
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

async function passedOn(response: Promise<unknown>, errors: PassedErrors): Promise<unknown> {
  try {
    return await response;
  } catch (error) {
    throw errors.forwardedError(error);
  }
}

async function* streamed(items: AsyncIterable<unknown>, errors: PassedErrors): AsyncGenerator {
  try {
    yield* items;
  } catch (error) {
    throw errors.forwardedError(error);
  }
}

function copy(from: Metadata, to: Metadata): void {
  for (const [key, value] of from) to.append(key, value);
}
