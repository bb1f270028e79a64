// A page that continues where it stopped: see docs/topics.md.
import type { ChatClient, Message } from "./generated/chat.js";

export async function showNotices(
  chat: ChatClient,
  localStorage: Pick<Storage, "getItem" | "setItem">,
  show: (message: Message) => void,
): Promise<void> {
  // #region history
  const items = chat.subscribeNotices({ from: localStorage.getItem("notices") ?? undefined });
  for await (const { message, position } of items) {
    if (message !== undefined) show(message); // without `from` the first item has none: it says that the subscription has begun
    localStorage.setItem("notices", position); // a page that is loaded again goes on here
  }
  // #endregion history
}
