import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";

/** Maximum number of characters of all names: those of many types may share a long package. */
const MAX_NAME_CHARACTERS = 50_000_000;

interface LinkedFiles {
  readonly linked: Iterable<FileDescriptorProto>;
  /** Files that need types which are not in the linked files, with the reason. */
  readonly unusable: ReadonlyMap<FileDescriptorProto, string>;
}

/**
 * Returns files in an order in which each follows those that it refers to. Makes the names of types absolute and adds
 * missing JSON names, because servers in Node (`@grpc/reflection`) send files without imports and JSON names, and with
 * relative names of types. Removes imports, which are not needed then and may be missing. Throws if the names would be
 * too long.
 */
export function linkedFiles(files: ReadonlyMap<string, FileDescriptorProto>): LinkedFiles {
  let room = MAX_NAME_CHARACTERS;
  const made = (name: string): string => {
    room -= name.length;
    if (room < 0) throw new Error("the names of its types are too long");
    return name;
  };
  const owners = new Map<string, FileDescriptorProto>();
  for (const file of files.values())
    for (const { name, enums } of scopesOf(file))
      for (const type of [name, ...enums.map((each) => `${name}.${each.name}`)]) owners.set(made(type), file);
  const absolute = (type: string, scope: string): string => {
    if (type === "" || type.startsWith(".")) return type;
    for (let outer = scope; outer !== ""; outer = outer.slice(0, outer.lastIndexOf(".")))
      if (owners.has(made(`${outer}.${type}`))) return `${outer}.${type}`;
    return `.${type}`;
  };
  const linked = new Set<FileDescriptorProto>();
  const visited = new Set<FileDescriptorProto>();
  const unusable = new Map<FileDescriptorProto, string>();
  const add = (file: FileDescriptorProto): void => {
    if (visited.has(file)) return;
    visited.add(file);
    const need = (type: string): void => {
      const owner = owners.get(type);
      if (type === "" || owner === file) return;
      if (owner !== undefined) add(owner);
      if (owner === undefined || !linked.has(owner))
        unusable.set(file, `${file.name} needs ${type.slice(1)}, which is missing`);
    };
    file.dependency = [];
    for (const { name, fields } of scopesOf(file))
      for (const field of fields) {
        field.typeName = absolute(field.typeName, name);
        field.extendee = absolute(field.extendee, name);
        if (field.jsonName === "") field.jsonName = protoCamelCase(field.name);
        need(field.typeName);
        need(field.extendee);
      }
    for (const method of file.service.flatMap((service) => service.method)) {
      method.inputType = absolute(method.inputType, `.${file.package}`);
      method.outputType = absolute(method.outputType, `.${file.package}`);
      need(method.inputType);
      need(method.outputType);
    }
    if (!unusable.has(file)) linked.add(file);
  };
  for (const file of files.values()) add(file);
  return { linked, unusable };
}

/** A package or a message. */
interface Scope {
  /** Absolute name, such as ".shop.v1.Order". */
  readonly name: string;
  readonly enums: readonly EnumDescriptorProto[];
  readonly fields: readonly FieldDescriptorProto[];
}

/** Returns the package of a file and the messages in it. */
function scopesOf({ package: name, enumType, extension, messageType }: FileDescriptorProto): readonly Scope[] {
  const root = name === "" ? "" : `.${name}`;
  return [
    { name: root, enums: enumType, fields: extension },
    ...messageType.flatMap((message) => messageScopes(message, root)),
  ];
}

function messageScopes(message: DescriptorProto, outer: string): readonly Scope[] {
  const name = `${outer}.${message.name}`;
  return [
    { name, enums: message.enumType, fields: [...message.field, ...message.extension] },
    ...message.nestedType.flatMap((nested) => messageScopes(nested, name)),
  ];
}
