/** Returns the path of the file with the codecs for the generated file at `path`. */
export function codecsFileOf(path: string): string {
  return path.replace(/\.ts$/, ".codecs.ts");
}

/** Returns the path of the file with the protobuf readers and writers for the generated file at `path`. */
export function protobufFileOf(path: string): string {
  return path.replace(/\.ts$/, ".protobuf.ts");
}

/** Returns the path of the file with descriptions for tools for the generated file at `path`. */
export function toolingFileOf(path: string): string {
  return path.replace(/\.ts$/, ".tooling.ts");
}
