import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
} from "@bufbuild/protobuf/wkt";

/**
 * Returns files in an order in which each follows those that it refers to. Makes the names of types absolute and adds
 * missing JSON names, because servers in Node (`@grpc/reflection`) send files without imports and JSON names, and with
 * relative names of types.
 */
export function linkedFiles(files: ReadonlyMap<string, FileDescriptorProto>): readonly FileDescriptorProto[] {
  const owners = new Map<string, FileDescriptorProto>();
  for (const file of files.values())
    for (const { name, enums } of scopesOf(file))
      for (const type of [name, ...enums.map((each) => `${name}.${each.name}`)]) owners.set(type, file);
  const absolute = (type: string, scope: string): string => {
    if (type === "" || type.startsWith(".")) return type;
    for (let outer = scope; outer !== ""; outer = outer.slice(0, outer.lastIndexOf(".")))
      if (owners.has(`${outer}.${type}`)) return `${outer}.${type}`;
    return `.${type}`;
  };
  const ordered = new Set<FileDescriptorProto>();
  const visited = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto | undefined): void => {
    if (file === undefined || visited.has(file)) return;
    visited.add(file);
    for (const name of file.dependency) add(files.get(name));
    for (const { name, fields } of scopesOf(file))
      for (const field of fields) {
        field.typeName = absolute(field.typeName, name);
        field.extendee = absolute(field.extendee, name);
        if (field.jsonName === "") field.jsonName = protoCamelCase(field.name);
        add(owners.get(field.typeName));
        add(owners.get(field.extendee));
      }
    for (const method of file.service.flatMap((service) => service.method)) {
      method.inputType = absolute(method.inputType, `.${file.package}`);
      method.outputType = absolute(method.outputType, `.${file.package}`);
      add(owners.get(method.inputType));
      add(owners.get(method.outputType));
    }
    ordered.add(file);
  };
  for (const file of files.values()) add(file);
  return [...ordered];
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
