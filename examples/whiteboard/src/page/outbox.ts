import type { BoardCommand, Piece } from "../generated/whiteboard.js";

/** Points of one piece, at most; what the service allows. */
const PIECE_POINTS = 256;
/** Commands that may wait for a connection. */
const CAPACITY = 1000;

/** What this participant has done to the board and the server has not been told yet. */
export class Outbox {
  private commands: BoardCommand[] = [];
  private wake: () => void = () => {};

  get full(): boolean {
    return this.commands.length >= CAPACITY;
  }

  /** The pieces that wait. */
  pieces(): Piece[] {
    return this.commands.flatMap((command) => (command.type === "draw" ? [command.piece] : []));
  }

  add(command: BoardCommand): void {
    if (command.type !== "draw" || !this.extendLast(command.piece)) this.commands.push(command);
    this.wake();
  }

  /** In place of all that waits. */
  replace(pieces: readonly Piece[]): void {
    this.commands = pieces.flatMap((piece) => split(piece)).map((piece) => ({ type: "draw", piece }));
    this.wake();
  }

  /** Writes what waits, as fast as it is taken, until writing fails or the signal fires. */
  async sendTo(writer: WritableStreamDefaultWriter<BoardCommand>, signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.wake());
    while (!signal.aborted) {
      const command = this.commands[0];
      if (command === undefined) {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
        continue;
      }
      await writer.ready;
      if (command !== this.commands[0]) continue;
      this.commands.shift();
      try {
        await writer.write(command);
      } catch (error) {
        this.commands.unshift(command);
        throw error;
      }
    }
  }

  /** While the connection is slower than the pen, the points of a line travel together. */
  private extendLast({ line, points }: Piece): boolean {
    const last = this.commands.at(-1);
    if (last?.type !== "draw" || last.piece.line !== line) return false;
    if (last.piece.points.length + points.length > PIECE_POINTS) return false;
    last.piece.points.push(...points);
    return true;
  }
}

function split(piece: Piece): Piece[] {
  const pieces = [];
  for (let at = 0; at < piece.points.length; at += PIECE_POINTS) {
    pieces.push({ ...piece, points: piece.points.slice(at, at + PIECE_POINTS) });
  }
  return pieces;
}
