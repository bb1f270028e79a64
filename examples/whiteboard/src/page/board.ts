import type { BoardEvent, Color, Piece, WhiteboardClient } from "../generated/whiteboard.js";
import { byId } from "./dom.js";
import { Lines } from "./lines.js";
import { Outbox } from "./outbox.js";
import { Paper } from "./paper.js";

/** Who this participant is, as the server says. */
export interface Identity {
  readonly you: string;
  readonly server: string;
}

/** The board: what the server says is on it, and what this participant draws, which is shown at once. */
export class Board {
  readonly paper: Paper;
  private readonly outbox: Outbox = new Outbox();
  private lines: Lines = new Lines();
  private identity: Identity = { you: "", server: "" };
  private lineCount = 0;

  constructor() {
    this.paper = new Paper(byId<HTMLCanvasElement>("canvas"), byId("cursors"), () => this.lines);
  }

  /** A new line of this participant; more of its points follow by `draw`. */
  begin(color: Color, width: number): Omit<Piece, "points"> {
    return { line: this.lineCount++, color, width };
  }

  draw(piece: Piece): void {
    if (this.outbox.full) return;
    this.outbox.add({ type: "draw", piece });
    this.show(piece);
  }

  tell(type: "undo" | "clear"): void {
    this.outbox.add({ type });
  }

  /** Draws with the others until the stream fails or the signal fires. */
  async follow(client: WhiteboardClient, identity: Identity, signal: AbortSignal): Promise<void> {
    // A server that was started anew has an empty board: it is told again what was drawn here.
    if (identity.server !== this.identity.server) {
      this.outbox.replace([...this.lines.all()].filter(({ by }) => by === this.identity.you));
    }
    this.identity = identity;
    const over = new AbortController();
    const { readable, writable } = client.draw({ signal: AbortSignal.any([signal, over.signal]) });
    const send = (): void => {
      // The other direction says why.
      this.outbox.sendTo(writable.getWriter(), over.signal).catch(() => {});
    };
    try {
      await this.showAll(readable, send);
    } finally {
      over.abort();
    }
  }

  /** `onShown` is called when all that was there is shown. What is sent before would be neither there nor in the outbox. */
  private async showAll(events: AsyncIterable<BoardEvent>, onShown: () => void): Promise<void> {
    let arriving: Lines | undefined = new Lines();
    for await (const event of events) {
      if (event.type === "shown") {
        this.lines = arriving ?? this.lines;
        arriving = undefined;
        for (const piece of this.outbox.pieces()) this.lines.add(this.identity.you, piece);
        this.repaint();
        onShown();
      } else if (event.type === "erased") {
        for (const { by, line } of event.lines) (arriving ?? this.lines).erase(by, line);
        if (arriving === undefined) this.repaint();
      } else if (arriving !== undefined) arriving.add(event.by, event.piece);
      else this.show(event.piece, event.by);
    }
  }

  private show(piece: Piece, by: string = this.identity.you): void {
    const { line, from } = this.lines.add(by, piece);
    this.paper.grow(line, from);
    this.hint();
  }

  private repaint(): void {
    this.paper.repaint();
    this.hint();
  }

  private hint(): void {
    byId("hint").hidden = this.lines.size > 0;
  }
}
