import type { ChatMessage, WhiteboardClient } from "../generated/whiteboard.js";
import type { Identity } from "./board.js";
import { byId, fromTemplate } from "./dom.js";
import { fileCard } from "./download.js";

/** Messages that are shown at most, as many as the server keeps. */
const SHOWN = 200;
/** Pixels from the end of the list that count as its end. */
const NEAR_END = 40;

/** What is said. */
export class Chat {
  private readonly client: WhiteboardClient;
  private readonly list: HTMLElement = byId("messages");
  /** Nobody looks at what was said before. */
  private atEnd = true;
  private server = "";
  private last = 0;

  constructor(client: WhiteboardClient) {
    this.client = client;
    const { list } = this;
    list.addEventListener("scroll", () => {
      this.atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END;
    });
    // Pictures take their place when they have come; their events do not bubble.
    list.addEventListener("load", () => this.keepEnd(), { capture: true });
    const text = byId<HTMLInputElement>("text");
    byId<HTMLFormElement>("compose").addEventListener("submit", (event) => {
      event.preventDefault();
      if (text.value.trim() !== "") void this.say(text);
    });
  }

  /** Shows the messages until the stream fails or the signal fires: from where the last stream ended, where the server is the same. */
  async follow({ you, server }: Identity, signal: AbortSignal): Promise<void> {
    if (server !== this.server) this.last = 0;
    this.server = server;
    for await (const message of this.client.messages({ after: this.last }, { signal })) {
      this.last = message.id;
      this.show(message, message.from.id === you);
    }
  }

  /** What could not be said is still there to be sent again. */
  private async say(field: HTMLInputElement): Promise<void> {
    const { value } = field;
    field.value = "";
    field.setCustomValidity("");
    try {
      await this.client.say({ text: value }, { timeoutMs: 10_000 });
    } catch (error) {
      field.value ||= value;
      field.setCustomValidity(error instanceof Error ? error.message : String(error));
      field.reportValidity();
      field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
    }
  }

  private show({ from, at, text, file }: ChatMessage, mine: boolean): void {
    const { root, part } = fromTemplate("message");
    root.classList.toggle("mine", mine);
    root.style.setProperty("--hue", String(from.hue));
    part("b").textContent = from.name;
    part("time").textContent = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    part(".text").textContent = text;
    if (file !== undefined) root.append(fileCard(this.client, file));
    this.list.append(root);
    while (this.list.childElementCount > SHOWN) this.list.firstElementChild?.remove();
    this.atEnd ||= mine;
    this.keepEnd();
  }

  private keepEnd(): void {
    if (this.atEnd) this.list.scrollTop = this.list.scrollHeight;
  }
}
