import type { SharedFile, WhiteboardClient } from "../generated/whiteboard.js";
import { fromTemplate, readableSize } from "./dom.js";

/** Image types that are shown automatically. */
const PREVIEWED: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const PREVIEW_BYTES = 2_000_000;

/** Returns an element for a shared file that can be saved; small images are shown. */
export function fileCard(client: WhiteboardClient, file: SharedFile): HTMLElement {
  const { root, part } = fromTemplate("file");
  const size = part("span");
  part("b").textContent = file.name;
  size.textContent = readableSize(file.size);
  const button = part<HTMLButtonElement>("button");
  button.addEventListener("click", () => {
    button.disabled = true;
    save(client, file)
      .catch((error: unknown) => {
        size.textContent = error instanceof Error ? error.message : String(error);
      })
      .finally(() => {
        button.disabled = false;
      });
  });
  if (PREVIEWED.has(file.type) && file.size <= PREVIEW_BYTES) {
    const image = part<HTMLImageElement>("img");
    image.alt = file.name;
    download(client, file)
      .then((blob) => {
        image.src = URL.createObjectURL(blob);
        image.addEventListener("load", () => URL.revokeObjectURL(image.src));
        image.hidden = false;
      })
      // It can still be saved, or the attempt says why not.
      .catch(() => {});
  }
  return root;
}

async function save(client: WhiteboardClient, file: SharedFile): Promise<void> {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await download(client, file));
  link.download = file.name;
  link.click();
  // The browser has begun by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function download(client: WhiteboardClient, { id, type, size }: SharedFile): Promise<Blob> {
  const { file } = await client.download({ id });
  return new Blob([await file.bytes({ maxBytes: size })], { type });
}
