import { createOutbox, type Outbox } from "@quicrpc/durable";
import type { BoardChange, BoardCommand, Color, Piece, WhiteboardClient } from "../generated/whiteboard.js";
import { byId } from "./dom.js";
import { type Line, Lines } from "./lines.js";
import { Paper } from "./paper.js";

/**
 * The board: the result of everyone's changes, and on top of it this participant's own drawing, which is shown at once.
 */
export class Board {
  readonly paper: Paper;
  private readonly client: WhiteboardClient;
  private readonly room: string;
  private readonly outbox: Outbox<BoardCommand>;
  private lines: Lines = new Lines();
  /** This participant's lines of which pieces have not come back yet, and their number. */
  private readonly ahead: Lines = new Lines();
  private readonly missing: Map<number, number> = new Map();
  /** Commands that were sent and have not come back yet, by id. */
  private readonly sent: Map<string, readonly BoardCommand[]> = new Map();
  /** Starts at the time, so that a line of a reloaded page never continues an earlier one. */
  private lineCount: number = Date.now();

  // #region outbox
  constructor(client: WhiteboardClient, room: string) {
    this.client = client;
    this.room = room;
    this.outbox = createOutbox({
      send: (commands, id) => {
        this.sent.set(id, commands);
        return client.change({ room, id, commands: [...commands] });
      },
      onError: (_, __, id) => this.cameBack(id),
    });
    // #endregion outbox
    const all = (): Line[] => [...this.lines.all(), ...this.ahead.all()];
    this.paper = new Paper(byId<HTMLCanvasElement>("canvas"), byId("cursors"), all);
  }

  /** Begins a new line of this participant; `draw` adds points. */
  begin(color: Color, width: number): Omit<Piece, "points"> {
    return { line: this.lineCount++, color, width };
  }

  draw(piece: Piece): void {
    if (this.outbox.full) return;
    this.outbox.add({ type: "draw", piece });
    this.missing.set(piece.line, (this.missing.get(piece.line) ?? 0) + 1);
    this.show(this.ahead.add("me", piece));
  }

  tell(type: "undo" | "clear"): void {
    if (!this.outbox.full) this.outbox.add({ type });
  }

  // #region follow
  /**
   * Shows changes of the board, across lost sessions and on any server. Fails if missed changes are no longer stored.
   */
  async follow(): Promise<void> {
    this.lines = new Lines();
    const changes = this.client.subscribeBoard({ room: this.room }, { from: "0", resumeForMs: Infinity });
    for await (const { message } of changes) if (message !== undefined) this.change(message);
  }
  // #endregion follow

  private change({ by, id, commands }: BoardChange): void {
    const isShown = this.sent.has(id);
    for (const command of commands) {
      if (command.type === "draw") {
        const added = this.lines.add(by, command.piece);
        if (!isShown) this.show(added);
        continue;
      }
      if (command.type === "undo") this.lines.eraseLatest(by);
      else this.lines = new Lines();
      this.repaint();
    }
    this.cameBack(id);
  }

  /** Forgets the commands sent under this id, which are now part of the lines. */
  private cameBack(id: string): void {
    for (const command of this.sent.get(id) ?? []) {
      if (command.type !== "draw") continue;
      const { line } = command.piece;
      const missing = (this.missing.get(line) ?? 0) - 1;
      this.missing.set(line, missing);
      if (missing > 0) continue;
      this.missing.delete(line);
      this.ahead.erase("me", line);
      this.repaint();
    }
    this.sent.delete(id);
  }

  private show({ line, from }: { readonly line: Line; readonly from: number }): void {
    this.paper.grow(line, from);
    this.hint();
  }

  private repaint(): void {
    this.paper.repaint();
    this.hint();
  }

  private hint(): void {
    byId("hint").hidden = this.lines.size + this.ahead.size > 0;
  }
}
