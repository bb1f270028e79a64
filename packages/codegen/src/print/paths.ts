export function codecsFileOf(path: string): string {
  return path.replace(/\.ts$/, ".codecs.ts");
}

export function protobufFileOf(path: string): string {
  return path.replace(/\.ts$/, ".protobuf.ts");
}

/** Returns the path of the file with descriptions for tools for the generated file at `path`. */
export function toolingFileOf(path: string): string {
  return path.replace(/\.ts$/, ".tooling.ts");
}
