// A page with a form: a file goes to a handler, with a progress bar, and comes back.
import { connect } from "@quicrpc/browser";
import type { BlobSource, ReceivedBlob } from "@quicrpc/blobs";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { blobCalls } from "@quicrpc/blobs/generated";

const service = { name: "test.v1.PageBlobs", id: 4731 };
/** Both sides' types of messages with a file. */
const codec = <Sent, Received>(): ReturnType<typeof uncheckedCodec<Sent>> &
  ReturnType<typeof uncheckedCodec<Received>> => uncheckedCodec<never>();

type Sent = { readonly note: string; readonly file: BlobSource };
type Received = { readonly note: string; readonly file: ReceivedBlob };

export const methods = {
  upload: defineMethod<"unary", Sent, Received, string, string>(service, "unary", "upload", {
    id: 1,
    input: codec<Sent, Received>(),
    output: uncheckedCodec<string>(),
    blobs: blobCalls({ input: [{ name: "file", resumable: true, digest: "sha-256" }] }),
  }),
  download: defineMethod<"unary", number, number, Sent, Received>(service, "unary", "download", {
    id: 2,
    input: uncheckedCodec<number>(),
    output: codec<Sent, Received>(),
    blobs: blobCalls({ output: [{ name: "file" }] }),
  }),
};

async function start(url: string, hash: readonly number[], webSocket: boolean): Promise<void> {
  document.body.innerHTML = "<input type=file><progress></progress><output></output>";
  const [input, bar, output] = document.body.children as unknown as [
    HTMLInputElement,
    HTMLProgressElement,
    HTMLOutputElement,
  ];
  if (webSocket) Object.defineProperty(globalThis, "WebTransport", { value: undefined });
  const serverCertificateHashes = [{ algorithm: "sha-256" as const, value: Uint8Array.from(hash) }];
  const connection = await connect(url, { serverCertificateHashes });
  input.onchange = async () => {
    const [content] = input.files as FileList;
    bar.max = content?.size ?? 0;
    const file = { content: content as File, onProgress: (bytes: number) => (bar.value = bytes) };
    output.value = await connection.unary(methods.upload, { note: "7", file }).catch(String);
  };
  Object.assign(globalThis, {
    async download(n: number) {
      const { file } = await connection.unary(methods.download, n);
      const digest = await crypto.subtle.digest("SHA-256", await file.bytes());
      return {
        name: file.name,
        sha256: Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(""),
      };
    },
  });
}

Object.assign(globalThis, { start });
