import { clone, create, createFileRegistry, type DescService, fromBinary, type FileRegistry } from "@bufbuild/protobuf";
import * as wellKnown from "@bufbuild/protobuf/wkt";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type Caller, type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import type { ProtobufService } from "@quicrpc/protobuf";
import { describedMethod } from "@quicrpc/services";
import { linkedFiles } from "./linked-files.js";
import {
  FILE_BY_NAME,
  FILE_CONTAINING_SYMBOL,
  LIST_SERVICES,
  type ReflectionRequest,
  type ReflectionResponse,
  request,
  response,
} from "./reflection-messages.js";

const METHOD = "ServerReflectionInfo";
/** Maximum number of services, and of `.proto` files, that are read from a server. */
const MAX_FILES = 2000;
const MAX_BYTES = 64 * 1024 * 1024;
/** Maximum number of files that are left out because they are not valid. Each costs another attempt. */
const MAX_INVALID_FILES = 10;

/** Versions of the reflection service, in the order in which they are tried. Their messages are the same. */
export const REFLECTION_SERVICES: readonly ProtobufService[] = ["v1", "v1alpha"].map((version) => ({
  name: `grpc.reflection.${version}.ServerReflection`,
  methods: { [METHOD]: { name: METHOD, input: request, output: response } },
}));

export interface GrpcDescriptors {
  readonly registry: FileRegistry;
  /** Sorted by name. */
  readonly services: readonly DescService[];
  /** Names of the services that the server lists but does not describe completely, with the reason. */
  readonly unknown: ReadonlyMap<string, string>;
}

/** Reads the descriptors of all services from the server's reflection. Rejects with `RpcError` if it has none. */
export async function fetchDescriptors(client: Caller, options: CallOptions | undefined): Promise<GrpcDescriptors> {
  for (const { name } of REFLECTION_SERVICES) {
    const call = new ReflectionCall(client, name, options);
    try {
      return await call.fetch();
    } catch (error) {
      const { code, message } = RpcError.from(error);
      if (code === "unauthenticated" || code === "permission_denied") throw refused(code, message);
      if (code !== "unimplemented") throw error;
    } finally {
      call.end();
    }
  }
  throw new RpcError("failed_precondition", "the server has no gRPC reflection, so its services are unknown", {
    hint: "register the reflection service at the server, such as reflection.Register(server) in Go, or createReflection(routers) of @quicrpc/services; or import its .proto files with quicrpc import, and call it by the generated client",
  });
}

function refused(code: string, message: string): RpcError {
  return new RpcError("failed_precondition", `the server refuses its gRPC reflection (${code}): ${message}`, {
    hint: "send credentials with -H 'authorization: Bearer …' or --credentials-from",
  });
}

/** One call of the reflection service. Its requests are answered in order. */
class ReflectionCall {
  private readonly answers: AsyncIterator<unknown>;
  private readonly writer: WritableStreamDefaultWriter<unknown>;
  private readonly files = new Map<string, FileDescriptorProto>();
  private bytes = 0;

  constructor(client: Caller, name: string, options: CallOptions | undefined) {
    const info = { name: METHOD, id: 1, kind: "duplex", idempotent: true, takes: "value", gives: "value" } as const;
    const method = describedMethod({ name, id: 1, methods: [] }, info) as AnyMethod<"duplex">;
    const { readable, writable } = client.start(method, undefined, options);
    this.answers = (readable as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    this.writer = writable.getWriter();
  }

  end(): void {
    // The call has reported its failure already.
    this.writer.close().catch(() => {});
    this.answers.return?.().catch(() => {});
  }

  async fetch(): Promise<GrpcDescriptors> {
    const [listed] = await this.ask([{ field: LIST_SERVICES, text: "*" }]);
    if (listed?.error !== undefined)
      throw new RpcError("unavailable", `the server does not list its services: ${listed.error}`);
    const names = [...new Set(listed?.services)].toSorted();
    const reasons = new Map<string, string>();
    const found = await this.ask(names.map((text) => ({ field: FILE_CONTAINING_SYMBOL, text })));
    found.forEach((answer, index) => {
      if (answer.error !== undefined) reasons.set(names[index] as string, answer.error);
    });
    await this.addImports();
    const registry = readable(() => registryOf(this.files, reasons));
    const services: DescService[] = [];
    const unknown = new Map<string, string>();
    for (const name of names) {
      const service = registry.getService(name);
      if (service !== undefined) services.push(service);
      else unknown.set(name, reasons.get(name) ?? "its file does not contain it");
    }
    return { registry, services, unknown };
  }

  /** Sends requests and resolves with their answers. The files in them are added to `files`. */
  private async ask(requests: readonly ReflectionRequest[]): Promise<ReflectionResponse[]> {
    if (requests.length > MAX_FILES) throw tooMuch(`${MAX_FILES} services or .proto files`);
    const sent = requests.map((request) => this.writer.write(request));
    // A failed call also rejects the read below.
    Promise.all(sent).catch(() => {});
    const answers: ReflectionResponse[] = [];
    while (answers.length < requests.length) {
      const { done, value } = await this.answers.next();
      if (done === true) throw new RpcError("data_loss", "the server's reflection ends without an answer");
      const answer = value as ReflectionResponse;
      this.add(answer);
      answers.push({ ...answer, files: [] });
    }
    return answers;
  }

  private add({ files }: ReflectionResponse): void {
    for (const bytes of files) {
      const file = readable(() => fromBinary(FileDescriptorProtoSchema, bytes));
      // Servers may send a file again with each service.
      if (this.files.has(file.name)) continue;
      this.bytes += bytes.length;
      if (this.bytes > MAX_BYTES) throw tooMuch(`${MAX_BYTES} bytes of .proto files`);
      this.files.set(file.name, file);
    }
    if (this.files.size > MAX_FILES) throw tooMuch(`${MAX_FILES} .proto files`);
  }

  /** Reads the imported files that the server has not sent along. The server may lack some. */
  private async addImports(): Promise<void> {
    const asked = new Set<string>();
    for (;;) {
      const imported = new Set([...this.files.values()].flatMap(({ dependency }) => dependency));
      const missing = [...imported].filter((name) => !this.files.has(name) && !asked.has(name));
      if (missing.length === 0) return;
      for (const name of missing) asked.add(name);
      await this.ask(missing.map((text) => ({ field: FILE_BY_NAME, text })));
      for (const name of missing) {
        const known = WELL_KNOWN_FILES.get(name);
        if (!this.files.has(name) && known !== undefined) this.files.set(name, clone(FileDescriptorProtoSchema, known));
      }
    }
  }
}

/** Files of protobuf itself, which servers may omit. */
const WELL_KNOWN_FILES: ReadonlyMap<string, FileDescriptorProto> = new Map(
  Object.values(wellKnown).flatMap((value) =>
    typeof value === "object" && "kind" in value && value.kind === "file" ? [[`${value.name}.proto`, value.proto]] : [],
  ),
);

/**
 * Returns the types of files. Leaves out files that are not valid or that need types that are not in `files`, and sets
 * the reason for each of their services. Throws if there are many of them.
 */
function registryOf(files: Map<string, FileDescriptorProto>, reasons: Map<string, string>): FileRegistry {
  const leaveOut = (file: FileDescriptorProto, reason: string): void => {
    files.delete(file.name);
    for (const { name } of file.service) reasons.set(file.package === "" ? name : `${file.package}.${name}`, reason);
  };
  for (let failures = 0; ; failures++) {
    const { linked, unusable } = linkedFiles(files);
    for (const [file, reason] of unusable) leaveOut(file, reason);
    let last: FileDescriptorProto | undefined;
    function* noted(): Generator<FileDescriptorProto> {
      for (const file of linked) yield (last = file);
    }
    try {
      // The files are built one after another, so the last one is the one that fails.
      return createFileRegistry(
        Object.assign(create(FileDescriptorSetSchema), { file: noted() as Iterable<unknown> as [] }),
      );
    } catch (error) {
      if (last === undefined || failures === MAX_INVALID_FILES) throw error;
      leaveOut(last, (error as Error).message);
    }
  }
}

function tooMuch(limit: string): RpcError {
  return new RpcError("resource_exhausted", `the server's reflection has more than ${limit}`);
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new RpcError("data_loss", `the server's reflection is not valid: ${(cause as Error).message}`, { cause });
  }
}
