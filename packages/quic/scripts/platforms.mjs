// The platforms that have a published engine, and the name of this one.
/** `target` is Rust's name; `glibc` the oldest version that the engine may need, that of Node 20. */
export const PLATFORMS = {
  "linux-x64-gnu": { os: "linux", cpu: "x64", libc: "glibc", target: "x86_64-unknown-linux-gnu", glibc: "2.28" },
  "linux-arm64-gnu": { os: "linux", cpu: "arm64", libc: "glibc", target: "aarch64-unknown-linux-gnu", glibc: "2.28" },
  "linux-x64-musl": { os: "linux", cpu: "x64", libc: "musl", target: "x86_64-unknown-linux-musl" },
  "linux-arm64-musl": { os: "linux", cpu: "arm64", libc: "musl", target: "aarch64-unknown-linux-musl" },
  "darwin-x64": { os: "darwin", cpu: "x64", target: "x86_64-apple-darwin" },
  "darwin-arm64": { os: "darwin", cpu: "arm64", target: "aarch64-apple-darwin" },
  "win32-x64": { os: "win32", cpu: "x64", target: "x86_64-pc-windows-msvc" },
  "win32-arm64": { os: "win32", cpu: "arm64", target: "aarch64-pc-windows-msvc" },
};

/** Mirrors `platformName` in src/engine-file.ts. */
export function platformName() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux") return name;
  return `${name}-${process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "gnu"}`;
}

/** The file that cargo makes for a platform. */
export function libraryName(platform) {
  if (platform.startsWith("win32")) return "quicrpc_quic.dll";
  return platform.startsWith("darwin") ? "libquicrpc_quic.dylib" : "libquicrpc_quic.so";
}
