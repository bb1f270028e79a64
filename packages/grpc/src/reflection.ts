import { type ItemStream, RpcError } from "@quicrpc/core";
import { uncheckedCodec } from "@quicrpc/core/generated";
import { cutText } from "@quicrpc/core/internal";
import { type Bound, readBase64 } from "@quicrpc/http/internal";
import type { ProtobufMessage, ProtobufMethod, ProtobufService } from "@quicrpc/protobuf";
import {
  countFields,
  readMessage,
  readString,
  readTag,
  readWhole,
  skipField,
  writeBytes,
  writeInt32,
  writeMessage,
  writeString,
} from "@quicrpc/protobuf/generated";
import { KNOWN_FILES } from "./known-files.js";

/** Full name of the method that describes services. Clients that may call it may also use gRPC reflection. */
export const DESCRIBE = "quicrpc.v1.Reflection/describe";

/** Paths of gRPC reflection, one for each version; the messages are the same in both. */
export const REFLECTION_PATHS: readonly string[] = ["v1", "v1alpha"].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/**
 * Returns the method that answers gRPC reflection for `services`.
 *
 * @param describe the method whose name and interceptors decide which clients may call it
 */
export function reflect(describe: Bound<unknown>, services: readonly ProtobufService[]): Bound<unknown> {
  const { method, authorize } = describe;
  const files = new Files(services);
  return {
    method: { ...method, kind: "duplex", input: uncheckedCodec(), output: uncheckedCodec() },
    authorize,
    async handler(requests: ItemStream<Request>, context) {
      await authorize?.(context);
      return files.answers(requests);
    },
  };
}

/** Tags of the fields of a reflection request. A request contains one of them. */
const FILE_BY_NAME = 26;
const FILE_CONTAINING_SYMBOL = 34;
const FILE_CONTAINING_EXTENSION = 42;
const EXTENSION_NUMBERS = 50;
const LIST_SERVICES = 58;

interface Request {
  readonly bytes: Uint8Array;
  readonly tag: number;
  readonly text: string;
}

const request: ProtobufMessage = {
  name: "grpc.reflection.v1.ServerReflectionRequest",
  read(r, end, depth): Request {
    countFields(4);
    const bytes = r.bytes.slice(r.position, end);
    let asked = 0;
    let text = "";
    while (r.position < end) {
      const tag = readTag(r, end);
      if (tag < FILE_BY_NAME || tag > LIST_SERVICES) skipField(r, tag, end, depth);
      else {
        asked = tag;
        // The field of an extension is a message, not a string. Its content is not needed, because no extension is
        // known.
        if (tag === FILE_CONTAINING_EXTENSION) skipField(r, tag, end, depth);
        else text = readString(r, end);
      }
    }
    return { bytes, tag: asked, text };
  },
  write() {
    throw new TypeError("reflection requests are only read");
  },
};

/** The field of a reflection response that answers a request. */
interface Answer {
  readonly tag: number;
  readonly write: ProtobufMessage["write"];
  readonly value: unknown;
}

const response: ProtobufMessage = {
  name: "grpc.reflection.v1.ServerReflectionResponse",
  read() {
    throw new TypeError("reflection responses are only written");
  },
  write(b, p, value, depth) {
    const [{ bytes }, answer] = value as [Request, Answer];
    b[p] = 18;
    const q = writeBytes(b, p + 1, bytes);
    b[q] = answer.tag;
    return writeMessage(b, q + 1, answer.value, answer.write, depth);
  },
};

export const REFLECTION: Pick<ProtobufMethod, "input" | "output"> = { input: request, output: response };

/** Writes a `FileDescriptorResponse`: a list of file descriptors. */
const writeFiles: ProtobufMessage["write"] = (b, p, value) => {
  let q = p;
  for (const bytes of value as readonly Uint8Array[]) {
    b[q] = 10;
    q = writeBytes(b, q + 1, bytes);
  }
  return q;
};

/** Writes a `ListServiceResponse`: a list of messages, each with the name of a service. */
const writeServices: ProtobufMessage["write"] = (b, p, value, depth) => {
  let q = p;
  for (const name of value as readonly string[]) {
    b[q] = 10;
    q = writeMessage(b, q + 1, name, writeName, depth);
  }
  return q;
};

const writeName: ProtobufMessage["write"] = (b, p, value) => {
  b[p] = 10;
  return writeString(b, p + 1, value);
};

const NOT_FOUND = 5;

const writeNotFound: ProtobufMessage["write"] = (b, p, value) => {
  b[p] = 8;
  const q = writeInt32(b, p + 1, NOT_FOUND);
  b[q] = 18;
  return writeString(b, q + 1, value);
};

/** A `.proto` file: its descriptor, its imports, and the full names that it declares. */
interface File {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly dependencies: readonly string[];
  readonly symbols: readonly string[];
}

/** The `.proto` files of the reflected services, by path and by the names that they declare. */
class Files {
  readonly #services: readonly string[];
  readonly #byName = new Map<string, File>();
  readonly #bySymbol = new Map<string, File>();

  constructor(services: readonly ProtobufService[]) {
    const described = services.filter(({ file }) => file !== undefined);
    this.#services = described.map(({ name }) => name).sort();
    for (const text of new Set([...KNOWN_FILES, ...described.map(({ file = "" }) => file)])) {
      const file = fileOf(text);
      this.#byName.set(file.name, file);
      for (const symbol of file.symbols) this.#bySymbol.set(symbol, file);
    }
  }

  async *answers(requests: AsyncIterable<Request>): AsyncGenerator<readonly [Request, Answer]> {
    for await (const request of requests) yield [request, this.#answer(request)];
  }

  #answer({ tag, text }: Request): Answer {
    switch (tag) {
      case LIST_SERVICES:
        return { tag: 50, write: writeServices, value: this.#services };
      case EXTENSION_NUMBERS:
        return this.#bySymbol.has(text) ? { tag: 42, write: writeName, value: text } : notFound(text);
      case FILE_CONTAINING_EXTENSION:
        return notFound("the extension");
      case FILE_BY_NAME:
      case FILE_CONTAINING_SYMBOL: {
        const file = (tag === FILE_BY_NAME ? this.#byName : this.#bySymbol).get(text);
        if (file === undefined) return notFound(text);
        const dependencies = file.dependencies.map((name) => this.#byName.get(name));
        const files = [file, ...dependencies].flatMap((each) => each?.bytes ?? []);
        return { tag: 34, write: writeFiles, value: files };
      }
      default:
        throw new RpcError("invalid_argument", "the request has no field that is known");
    }
  }
}

function notFound(what: string): Answer {
  return { tag: 58, write: writeNotFound, value: `${cutText(what, 200)} is not known` };
}

type ReadParameters = Parameters<ProtobufMessage["read"]>;

/**
 * Nested declarations in a descriptor: for the tag of each field that contains declarations, the fields inside them.
 */
type Parts = Map<number, Parts>;

const NO_PARTS: Parts = new Map();
const MESSAGE_PARTS: Parts = new Map([[34, NO_PARTS]]);
MESSAGE_PARTS.set(26, MESSAGE_PARTS);
const FILE_PARTS: Parts = new Map([
  [34, MESSAGE_PARTS],
  [42, NO_PARTS],
  [50, new Map([[18, NO_PARTS]])],
]);

function readFile(...[r, end, depth]: ReadParameters): Omit<File, "bytes"> {
  let name = "";
  let packageName = "";
  const dependencies: string[] = [];
  const symbols: string[] = [];
  while (r.position < end) {
    const tag = readTag(r, end);
    const parts = FILE_PARTS.get(tag);
    if (tag === 10) name = readString(r, end);
    else if (tag === 18) packageName = readString(r, end);
    else if (tag === 26) dependencies.push(readString(r, end));
    else if (parts !== undefined) symbols.push(...readMessage(r, end, declared(parts), depth));
    else skipField(r, tag, end, depth);
  }
  const prefix = packageName === "" ? "" : `${packageName}.`;
  return { name, dependencies, symbols: symbols.map((symbol) => prefix + symbol) };
}

/** Returns a function that reads the name of a declaration in a descriptor and the names of those nested in it. */
function declared(parts: Parts): (...given: ReadParameters) => string[] {
  return (r, end, depth) => {
    let name = "";
    const inside: string[] = [];
    while (r.position < end) {
      const tag = readTag(r, end);
      const more = parts.get(tag);
      if (tag === 10) name = readString(r, end);
      else if (more !== undefined) inside.push(...readMessage(r, end, declared(more), depth));
      else skipField(r, tag, end, depth);
    }
    return [name, ...inside.map((each) => `${name}.${each}`)];
  };
}

function fileOf(text: string): File {
  const bytes = readBase64(text);
  if (bytes === undefined) throw new TypeError("grpc() has a service whose file is not in base64");
  return { bytes, ...readWhole(bytes, 0, bytes.length, readFile) };
}
