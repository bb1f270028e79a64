import { create, createFileRegistry, type DescService, fromBinary, type FileRegistry } from "@bufbuild/protobuf";
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
/** Maximum number of `.proto` files that are read from a server. */
const MAX_FILES = 10_000;

/** Versions of the reflection service, in the order in which they are tried. Their messages are the same. */
export const REFLECTION_SERVICES: readonly ProtobufService[] = ["v1", "v1alpha"].map((version) => ({
  name: `grpc.reflection.${version}.ServerReflection`,
  methods: { [METHOD]: { name: METHOD, input: request, output: response } },
}));

export interface GrpcDescriptors {
  readonly registry: FileRegistry;
  /** Sorted by name. */
  readonly services: readonly DescService[];
  /** Names of the services that the server lists but does not describe, with the reason. */
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
    const names = listed?.services ?? [];
    const unknown = new Map<string, string>();
    const found = await this.ask(names.map((text) => ({ field: FILE_CONTAINING_SYMBOL, text })));
    found.forEach((answer, index) => {
      if (answer.error === undefined) this.add(answer);
      else unknown.set(names[index] as string, answer.error);
    });
    await this.addImports();
    const registry = this.registry();
    const services = names.map((name) => registry.getService(name)).filter((service) => service !== undefined);
    return { registry, services: services.sort((a, b) => (a.typeName < b.typeName ? -1 : 1)), unknown };
  }

  private async ask(requests: readonly ReflectionRequest[]): Promise<ReflectionResponse[]> {
    const sent = requests.map((request) => this.writer.write(request));
    // A failed call also rejects the read below.
    Promise.all(sent).catch(() => {});
    const answers: ReflectionResponse[] = [];
    while (answers.length < requests.length) {
      const { done, value } = await this.answers.next();
      if (done === true) throw new RpcError("data_loss", "the server's reflection ends without an answer");
      answers.push(value as ReflectionResponse);
    }
    return answers;
  }

  private add({ files }: ReflectionResponse): void {
    for (const bytes of files) {
      const file = readable(() => fromBinary(FileDescriptorProtoSchema, bytes));
      this.files.set(file.name, file);
    }
    if (this.files.size > MAX_FILES) {
      throw new RpcError("resource_exhausted", `the server's services have more than ${MAX_FILES} .proto files`);
    }
  }

  /** Reads the imported files that the server has not sent along. */
  private async addImports(): Promise<void> {
    for (;;) {
      const imported = [...this.files.values()].flatMap(({ dependency }) => dependency);
      const missing = [...new Set(imported)].filter((name) => !this.files.has(name));
      if (missing.length === 0) return;
      const answers = await this.ask(missing.map((text) => ({ field: FILE_BY_NAME, text })));
      for (const answer of answers) this.add(answer);
      const absent = missing.find((name) => !this.files.has(name));
      if (absent === undefined) continue;
      throw new RpcError("data_loss", `the server's reflection does not have the imported file ${absent}`);
    }
  }

  private registry(): FileRegistry {
    return readable(() => createFileRegistry(create(FileDescriptorSetSchema, { file: [...linkedFiles(this.files)] })));
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new RpcError("data_loss", `the server's reflection is not valid: ${(cause as Error).message}`, { cause });
  }
}
