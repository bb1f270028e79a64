import { RpcError } from "@quicrpc/core";
import type { WhiteboardClient, WhiteboardUploadInputItem } from "../generated/whiteboard.js";
import { byId, fromTemplate, readableSize } from "./dom.js";

const PART_BYTES = 64 * 1024;

/** Shares the files that are dropped on the page, or chosen. */
export function acceptFiles(client: WhiteboardClient): void {
  const attach = byId<HTMLInputElement>("attach");
  const overlay = byId("drop");
  const shareAll = (files: Iterable<File> | null | undefined): void => {
    for (const file of files ?? []) void share(client, file);
  };
  attach.addEventListener("change", () => {
    shareAll(attach.files);
    attach.value = "";
  });
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault();
    overlay.hidden = false;
  });
  document.addEventListener("dragleave", ({ relatedTarget }) => {
    // Within the page it goes from one element to the next.
    if (relatedTarget === null) overlay.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    overlay.hidden = true;
    shareAll(event.dataTransfer?.files);
  });
}

/** Shows how far it is, until it is done or someone has seen why not. */
async function share(client: WhiteboardClient, file: File): Promise<void> {
  const { root, part } = fromTemplate("upload");
  const cancelling = new AbortController();
  const said = part("span");
  const progress = part<HTMLProgressElement>("progress");
  const button = part<HTMLButtonElement>("button");
  part("b").textContent = file.name;
  progress.ariaLabel = `Upload of ${file.name}`;
  button.addEventListener("click", () => cancelling.abort());
  byId("uploads").append(root);
  const onSent = (sent: number): void => {
    progress.value = file.size === 0 ? 1 : sent / file.size;
    said.textContent = `${readableSize(sent)} of ${readableSize(file.size)}`;
  };
  onSent(0);
  try {
    await client.upload(partsOf(file, onSent), { signal: cancelling.signal });
    root.remove();
  } catch (error) {
    if (cancelling.signal.aborted) {
      root.remove();
      return;
    }
    root.classList.add("failed");
    said.textContent = RpcError.from(error).message;
    button.textContent = "Dismiss";
    button.addEventListener("click", () => root.remove());
  }
}

/** Reads on as the server takes what was read. */
async function* partsOf(file: File, onSent: (bytes: number) => void): AsyncGenerator<WhiteboardUploadInputItem> {
  const { name, type, size } = file;
  yield { type: "file", file: { name: name.slice(-200), type: type.slice(0, 100), size } };
  for (let at = 0; at < size; at += PART_BYTES) {
    const bytes = new Uint8Array(await file.slice(at, at + PART_BYTES).arrayBuffer());
    yield { type: "part", bytes };
    onSent(at + bytes.length);
  }
}
