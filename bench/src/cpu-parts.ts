import type { Share } from "./cpu-samples.js";

interface Part {
  readonly name: string;
  /** Pattern of the library's name, or of the function's name. Tested in the order of `PARTS`. */
  readonly library?: RegExp;
  readonly symbol?: RegExp;
}

const NATIVE = /\.node$/;
const NODE = /^(node|libstdc)/;

/** The parts of a call's CPU time. A sample belongs to the first part that matches. */
const PARTS: readonly Part[] = [
  { name: "kernel: sockets, scheduling", library: /^\[(kernel|vdso|unknown)/ },
  { name: "engine: cryptography", library: NATIVE, symbol: /^(ring_|ring::|rustls|__ecp|aes_|gcm_|fe)/ },
  { name: "engine: QUIC (quinn-proto)", library: NATIVE, symbol: /quinn_|bytes::|alloc::|hashbrown/ },
  { name: "engine: its own, sockets to JavaScript", library: NATIVE },
  { name: "native memory: malloc, memmove", library: /^libc/ },
  { name: "the runtime's JavaScript: frames, calls, sessions", symbol: /packages\/core\/dist/ },
  { name: "the engine's JavaScript", symbol: /packages\/(quic|node)\/dist/ },
  { name: "generated code: encoding, decoding, validation", symbol: /generated\// },
  { name: "libraries", symbol: /JS:.*node_modules/ },
  { name: "handlers and callers, of the bench", symbol: /bench\/dist/ },
  { name: "Node's JavaScript", symbol: /JS:.*node:/ },
  { name: "garbage collection", library: NODE, symbol: /Scaveng|Mark|Sweep|GC|Evacuat|Heap|Semi|Barrier|RecordWrite/ },
  {
    name: "compiling, until it is warm",
    library: NODE,
    symbol: /compiler|Compil|Parse|Scanner|maglev|baseline|Turbo|Optimiz/i,
  },
  { name: "promises and microtasks", library: NODE, symbol: /Promise|Microtask|Async|Await|Generator/ },
  { name: "typed arrays, views, strings", library: NODE, symbol: /TypedArray|ArrayBuffer|DataView|String|Utf8|Latin1/ },
  { name: "Node-API, libuv, callbacks", library: NODE, symbol: /napi|^uv_|uv__|node::|HandleApi|CallApi|HandleScope/ },
  { name: "V8, the rest" },
];

/** Returns the share of every part, largest first, without those under 0.5%. */
export function byPart(shares: readonly Share[]): { readonly name: string; readonly share: number }[] {
  const sums = new Map<string, number>();
  for (const sample of shares) {
    const name = partOf(sample);
    sums.set(name, (sums.get(name) ?? 0) + sample.share);
  }
  const parts = [...sums].map(([name, share]) => ({ name, share }));
  return parts.filter(({ share }) => share >= 0.005).sort((a, b) => b.share - a.share);
}

function partOf({ library, symbol }: Share): string {
  const part = PARTS.find((one) => (one.library?.test(library) ?? true) && (one.symbol?.test(symbol) ?? true));
  return part?.name ?? "other";
}
