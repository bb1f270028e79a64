import type { MessageCodec } from "@quicrpc/core/generated";
import type { UnsharedBytes } from "@quicrpc/core/internal";
import { encodeMessage } from "../protocol/message.js";
import { readBody } from "../protocol/body.js";
import { contentType } from "../protocol/content-type.js";
import { writeGetQuery } from "../protocol/get-query.js";
import { type HttpClientCall, requireAnswer } from "./http-call.js";

/**
 * Maximum characters of a GET request's query. Calls with longer queries use POST, because servers and proxies limit
 * URLs to about 8 KiB.
 */
const MAX_QUERY = 6000;

/** Matches the content codings that `fetch` itself decodes. */
const UNDONE = /^((x-)?gzip|deflate|br|zstd|identity)?$/;

/** Codecs of a call's input and output; undefined if the method has no such message. */
export interface CallCodecs {
  readonly input: MessageCodec<unknown> | undefined;
  readonly output: MessageCodec<unknown> | undefined;
}

/** Makes a call with one message in each direction and returns its response. Encodes the input before it returns. */
export function callUnary(call: HttpClientCall, input: unknown, codecs?: CallCodecs): Promise<unknown> {
  const { client, method, options } = call;
  const codec = codecs === undefined ? client.codec.of(method.input) : codecs.input;
  const message = encodeMessage(codec, input, client.limits.maxFrameBytes);
  return exchange(call, message, client.options.get === true && method.readOnly, options?.compress, codecs);
}

async function exchange(
  call: HttpClientCall,
  message: Uint8Array,
  byGet: boolean,
  compress: boolean | undefined,
  codecs: CallCodecs | undefined,
): Promise<unknown> {
  const { client, method } = call;
  const { codec, limits } = client;
  const coding = client.codingFor(message.length, compress);
  const bytes = coding === undefined ? message : await coding.compress(message);
  const query = byGet ? `?${writeGetQuery({ codec: codec.name, message: bytes, compression: coding?.name })}` : "";
  const isGet = byGet && query.length <= MAX_QUERY;
  const response = isGet
    ? await call.send({ method: "GET" }, {}, query)
    : await call.send(
        { method: "POST", body: bytes as UnsharedBytes },
        { "content-type": contentType({ codec: codec.name, stream: false }), "content-encoding": coding?.name },
      );
  await requireAnswer(call, response, false);
  const encoding = response.headers.get("content-encoding") ?? "";
  const body = await readBody(response.body, limits.maxFrameBytes).catch((error: unknown) => {
    throw call.unreadable(error);
  });
  return call.read(() => {
    if (!UNDONE.test(encoding)) throw new Error(`it is compressed by ${JSON.stringify(encoding)}, which is not known`);
    const output = codecs === undefined ? codec.of(method.output) : codecs.output;
    return client.decode(output, body);
  });
}
