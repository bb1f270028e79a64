/** Returns the path of the codecs for the generated file `path`. */
export function codecsFileOf(path: string): string {
  return path.replace(/\.ts$/, ".codecs.ts");
}

/** Returns the path of the readers and writers of protobuf for the generated file `path`. */
export function protobufFileOf(path: string): string {
  return path.replace(/\.ts$/, ".protobuf.ts");
}

/** Returns the path of the descriptions for tools of the services in the generated file `path`. */
export function toolingFileOf(path: string): string {
  return path.replace(/\.ts$/, ".tooling.ts");
}
