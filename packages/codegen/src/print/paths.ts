/** Where the codecs of the generated file `path` go. */
export function codecsFileOf(path: string): string {
  return path.replace(/\.ts$/, ".codecs.ts");
}

/** Where what tools are told of the services in the generated file `path` goes. */
export function toolingFileOf(path: string): string {
  return path.replace(/\.ts$/, ".tooling.ts");
}
