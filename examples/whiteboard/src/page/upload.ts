import { RpcError } from "@quicrpc/core";
import type { DescribedBlob } from "@quicrpc/blobs";
import { createOnceKey } from "@quicrpc/durable";
import { byId, fromTemplate, readableSize } from "./dom.js";

/** Shares a file under an id. */
type Share = (id: string, file: DescribedBlob, signal: AbortSignal) => PromiseLike<unknown>;

/** Shares files that are dropped on the page or chosen. */
export function acceptFiles(upload: Share): void {
  const attach = byId<HTMLInputElement>("attach");
  const overlay = byId("drop");
  const shareAll = (files: Iterable<File> | null | undefined): void => {
    for (const file of files ?? []) void share(upload, file);
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

/** Shows the progress until the upload is done or its error has been dismissed. */
async function share(upload: Share, file: File): Promise<void> {
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
    await upload(
      createOnceKey(),
      { content: file, name: file.name.slice(-200), onProgress: onSent },
      cancelling.signal,
    );
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
