import { createOnceKey } from "@quicrpc/durable";
import type { ChatMessage, WhiteboardClient } from "../generated/whiteboard.js";
import { byId, fromTemplate } from "./dom.js";
import { fileCard } from "./download.js";
import { keepUp } from "./keep-up.js";
import type { People } from "./people.js";

/** Maximum number of messages shown. */
const SHOWN = 200;
/** Pixels from the end of the list that count as its end. */
const NEAR_END = 40;

/** The room's chat. */
export class Chat {
  private readonly client: WhiteboardClient;
  private readonly list: HTMLElement = byId("messages");
  /** Whether the list is scrolled to its end. */
  private atEnd = true;
  private readonly room: string;
  private readonly people: People;
  private readonly name: () => string;
  private me: string | undefined;

  constructor(client: WhiteboardClient, room: string, people: People, name: () => string) {
    this.client = client;
    this.room = room;
    this.people = people;
    this.name = name;
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

  /** Shows the messages, once this participant's id is known. */
  begin(me: string): void {
    if (this.me !== undefined) return;
    this.me = me;
    void keepUp(new AbortController().signal, () => this.follow());
  }

  /** Shows messages across lost sessions and on any server. Fails if missed messages are no longer stored. */
  private async follow(): Promise<void> {
    this.list.replaceChildren();
    const messages = this.client.subscribeChat({ room: this.room }, { from: "0", resumeForMs: Infinity });
    for await (const { message } of messages) {
      if (message !== undefined) this.show(message, message.from.id === this.me);
    }
  }

  /** Sends the text of `field`, which keeps the text if sending fails. */
  private async say(field: HTMLInputElement): Promise<void> {
    const { value } = field;
    field.value = "";
    field.setCustomValidity("");
    try {
      const said = { room: this.room, id: createOnceKey(), name: this.name(), text: value };
      await this.client.say(said, { timeoutMs: 60_000 });
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
    root.style.setProperty("--hue", String(this.people.hueOf(from.id)));
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
