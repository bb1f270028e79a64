import type { Diagnostic } from "../diagnostics.js";
import { sourcePlaceOf } from "../diagnostics.js";
import type { LockedNumbers } from "../lock/lock.js";
import type { FileModel, MessageModel, MethodModel, ServiceModel } from "../model.js";
import { nodeOf } from "../schema/read.js";
import type { ProtoShape } from "../shape/shape.js";
import { goneMessages, lockedNumbersOf, protoShapesOf } from "./locked.js";
import { Declarations } from "./declared.js";
import { groupBy } from "./group.js";
import { PackageMessages } from "./messages.js";
import {
  lastPart,
  packageAndPath,
  packageNameOf,
  payloadName,
  type ProtoMessage,
  type ProtoMethod,
  type ProtoPackage,
  type ProtoService,
  rpcName,
} from "./model.js";
import { fileDescriptor } from "./descriptor.js";
import { printProto, protoFileOf } from "./print.js";
import { printProtobuf } from "./print-codec.js";
import { NameClashError, ProtoError } from "./value.js";

/** The generated `.proto` files, and everything else that is derived from the protobuf form of services. */
export interface ProtoOutput {
  /** Texts of the `.proto` files, one for each package, by path in the output directory. */
  readonly files: ReadonlyMap<string, string>;
  /** Paths of the `.proto` files of packages that are in the lock file but have no services any more. */
  readonly gone: readonly string[];
  /** Field numbers of all messages and enums, by full name, for the lock file. */
  readonly numbers: ReadonlyMap<string, LockedNumbers>;
  /** Protobuf messages and enums of each service, to be compared with another version. */
  readonly shapes: ReadonlyMap<string, Readonly<Record<string, ProtoShape>>>;
  /** Returns the text of the file with the protobuf readers and writers for a generated file. */
  readonly codecsOf: (model: FileModel) => string;
  /** Errors: names that are used twice, and methods of earlier runs that can no longer be included. */
  readonly problems: readonly Diagnostic[];
  /** Warnings: new methods that cannot be included, and messages whose numbers may have been lost. */
  readonly warnings: readonly Diagnostic[];
}

type Locked = ReadonlyMap<string, LockedNumbers>;

interface Source {
  readonly file: FileModel;
  readonly service: ServiceModel;
}

/**
 * Creates the `.proto` files of services. Omits methods that protobuf cannot represent faithfully: reports a warning
 * for a new method, an error for one of an earlier run.
 *
 * @param locked field numbers in the lock file, by full name
 * @param nameOfFile returns the name of a schema module in the header of a file
 * @param complete true if `models` are all files of the project
 */
export function buildProto(
  models: readonly FileModel[],
  locked: Locked,
  nameOfFile: (schemaFile: string) => string,
  complete: boolean,
): ProtoOutput {
  const sources = models.flatMap((file) => file.services.map((service): Source => ({ file, service })));
  const files = new Map<string, string>();
  const numbers = new Map<string, LockedNumbers>();
  const shapes = new Map<string, Readonly<Record<string, ProtoShape>>>();
  const services = new Map<string, ProtoService>();
  /** File descriptors in base64, by package. */
  const descriptors = new Map<string, string>();
  const problems: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  for (const [name, members] of groupBy(sources, ({ service }) => packageNameOf(service.name))) {
    const declared = new Declarations(
      name,
      locked,
      members.map(({ service }) => lastPart(service.name)),
      members.flatMap(({ service }) =>
        service.methods.flatMap(({ name, meta }) =>
          ROLES.map((role) => lastPart(payloadName(service.name, rpcName(name, meta), role))),
        ),
      ),
    );
    const messages = new PackageMessages(declared);
    const made = members.map(({ file, service }) => serviceOf(service, file, messages, locked, problems, warnings));
    const model: ProtoPackage = { name, services: made, types: declared.types };
    const schemaFiles = [...new Set(members.map(({ file }) => nameOfFile(file.schemaFile)))];
    files.set(protoFileOf(name), printProto(model, schemaFiles));
    descriptors.set(name, Buffer.from(fileDescriptor(model)).toString("base64"));
    for (const [type, each] of lockedNumbersOf(model)) numbers.set(type, each);
    for (const [index, { service }] of members.entries()) {
      const proto = made[index];
      if (proto === undefined) continue;
      services.set(service.name, proto);
      shapes.set(service.name, protoShapesOf(proto));
    }
  }
  warnings.push(...goneMessages(numbers, locked, complete));
  const gone = [...new Set(Array.from(locked.keys(), (type) => protoFileOf(packageAndPath(type)[0])))].filter(
    (path) => !files.has(path),
  );
  const codecsOf = (model: FileModel): string => printProtobuf(model, services, descriptors);
  return { files, gone, numbers, shapes, codecsOf, problems, warnings };
}

const ROLES = ["Request", "Response"] as const;

function serviceOf(
  service: ServiceModel,
  { types, schemaFile }: FileModel,
  messages: PackageMessages,
  locked: Locked,
  problems: Diagnostic[],
  warnings: Diagnostic[],
): ProtoService {
  const name = lastPart(service.name);
  const methods = new Map<string, ProtoMethod>();
  for (const method of service.methods) {
    const rpc = rpcName(method.name, method.meta);
    const nameOf = (role: (typeof ROLES)[number]): string => payloadName(service.name, rpc, role);
    let part = method.input;
    const payload = (message: MessageModel | undefined, role: (typeof ROLES)[number]): ProtoMessage => {
      part = message;
      const node = message && (message.schema === undefined ? "bytes" : nodeOf(message.schema));
      return messages.payload(lastPart(nameOf(role)), node, types);
    };
    try {
      if (methods.has(rpc)) {
        throw new NameClashError(undefined, `${rpc} is already the name of another method`, "Rename one of them.");
      }
      messages.attempt(() => {
        const input = payload(method.input, "Request");
        const output = payload(method.output, "Response");
        methods.set(rpc, { name: rpc, key: method.name, input, output, ...factsOf(method) });
      });
    } catch (error) {
      if (!(error instanceof ProtoError)) throw error;
      if (error.path.length > 0 || error.node !== undefined)
        error.path.unshift(part === method.input ? "input" : "output");
      const isLocked = ROLES.some((role) => locked.has(nameOf(role)));
      const node = error.node && part?.sourceOf(error.node.schema);
      const place = {
        ...(node === undefined ? { file: schemaFile } : sourcePlaceOf(node)),
        service: service.name,
        method: method.name,
        ...(error.path.length === 0 ? {} : { path: error.path.join(".") }),
      };
      const isProblem = isLocked || error instanceof NameClashError;
      (isProblem ? problems : warnings).push({ ...describe(error, isLocked), ...place });
    }
  }
  return { name, docs: service.docs, methods: [...methods.values()] };
}

/**
 * Returns the diagnostic for a method that protobuf cannot represent.
 * @param isLocked true if the method is in a `.proto` file of an earlier run
 */
function describe(error: ProtoError, isLocked: boolean): Pick<Diagnostic, "code" | "message" | "help"> {
  const { message, help } = error;
  if (error instanceof NameClashError) return { code: "proto-clash", message: `${message}.`, help };
  if (!isLocked) {
    return { code: "no-proto", message: `${message}: this method is left out of the .proto file.`, help };
  }
  return {
    code: "no-proto",
    message: `${message}: this method would disappear from the .proto file.`,
    help: `${help} If nobody calls it over protobuf, delete the lines of its messages in quicrpc.lock.json.`,
  };
}

function factsOf({
  kind,
  docs,
  idempotent,
  readOnly,
}: MethodModel): Omit<ProtoMethod, "name" | "key" | "input" | "output"> {
  return {
    docs,
    streamsInput: kind === "client_stream" || kind === "duplex",
    streamsOutput: kind === "server_stream" || kind === "duplex",
    idempotency: readOnly ? "NO_SIDE_EFFECTS" : idempotent ? "IDEMPOTENT" : undefined,
  };
}
