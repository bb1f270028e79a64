import type { BoardCommand, BoardEvent, BoardEventDrawn, Piece } from "../generated/whiteboard.js";
import { Audience, type Mailbox } from "./audience.js";
import { LIMITS } from "./limits.js";

/** What is on the board, as the pieces that were drawn, and who sees it. */
export class Board {
  private pieces: BoardEventDrawn[] = [];
  private points = 0;
  private readonly audience: Audience<BoardEvent> = new Audience();

  /** Shows the board to `by`, who does to it what `commands` say. */
  open(by: string, commands: AsyncIterable<BoardCommand>, signal: AbortSignal): AsyncIterable<BoardEvent> {
    const news = this.audience.listen(signal);
    this.follow(by, commands, news).catch((error: unknown) => news.end(error));
    return shown([...this.pieces], news);
  }

  private async follow(by: string, commands: AsyncIterable<BoardCommand>, own: Mailbox<BoardEvent>): Promise<void> {
    for await (const command of commands) {
      if (command.type === "draw") this.draw(by, command.piece, own);
      else if (command.type === "undo") this.undo(by);
      else this.erase(() => true);
    }
  }

  /** Whoever draws sees it already. */
  private draw(by: string, piece: Piece, own: Mailbox<BoardEvent>): void {
    const drawn = { type: "drawn", by, piece } as const;
    this.pieces.push(drawn);
    this.points += piece.points.length;
    this.audience.tell(drawn, own);
    if (this.points > LIMITS.points) this.eraseOldest(LIMITS.points / 10);
  }

  /** Whole lines, with this many points at least: more than one point, since every piece on the board is looked at. */
  private eraseOldest(points: number): void {
    const oldest = new Set<string>();
    for (const drawn of this.pieces) {
      if (points <= 0) break;
      oldest.add(lineOf(drawn));
      points -= drawn.piece.points.length;
    }
    this.erase((drawn) => oldest.has(lineOf(drawn)));
  }

  private undo(by: string): void {
    const latest = this.pieces.findLast((piece) => piece.by === by);
    if (latest !== undefined) this.erase((drawn) => lineOf(drawn) === lineOf(latest));
  }

  private erase(which: (piece: BoardEventDrawn) => boolean): void {
    const erased = this.pieces.filter(which);
    this.pieces = this.pieces.filter((piece) => !which(piece));
    this.points -= erased.reduce((sum, { piece }) => sum + piece.points.length, 0);
    const lines = new Map(erased.map((drawn) => [lineOf(drawn), { by: drawn.by, line: drawn.piece.line }]));
    this.audience.tell({ type: "erased", lines: [...lines.values()] });
  }
}

async function* shown(pieces: readonly BoardEvent[], news: AsyncIterable<BoardEvent>): AsyncGenerator<BoardEvent> {
  yield* pieces;
  yield { type: "shown" };
  yield* news;
}

function lineOf({ by, piece }: BoardEventDrawn): string {
  return `${by}/${piece.line}`;
}
