// Written by quicrpc import from stock.proto. (8f404296954f)
// quicrpc import replaces this file, unless it was edited.
import { rpc, service, stream } from "@quicrpc/core";
import { z } from "zod";

export const Unit = {
  UNIT_UNSPECIFIED: 0,
  UNIT_PIECE: 1,
  UNIT_KILOGRAM: 2,
} as const;

/** A number of `Unit`, or of a member that was added later. */
export const UnitSchema = z.int32().meta({ proto: { enum: "Unit", values: Unit } });

export const GetLevelRequest = z
  .object({
    article: z.string(),
  })
  .meta({ proto: { article: 1 } });

export const Level = z
  .object({
    article: z.string(),
    amount: z.number(),
    unit: UnitSchema,
    countedAt: z.date().optional(),
  })
  .meta({ proto: { article: 1, amount: 2, unit: 3, countedAt: 4 } });

export const Delivery = z
  .object({
    article: z.string(),
    amount: z.number(),
  })
  .meta({ proto: { article: 1, amount: 2 } });

export const Delivered = z
  .object({
    /** Levels by article. */
    levels: z.record(z.string(), Level),
    totalDeliveries: z.bigint(),
  })
  .meta({ proto: { levels: 1, totalDeliveries: 2 } });

export const Reservation = z
  .object({
    /** - refused: Why nothing was reserved. */
    outcome: z
      .discriminatedUnion("case", [
        z.object({ case: z.literal("reserved"), value: Level }),
        z.object({ case: z.literal("refused"), value: z.string() }),
      ])
      .optional(),
  })
  .meta({ proto: { outcome: { reserved: 1, refused: 2 } } });

/** Counts what is in stock. */
export const Stock = service("shop.v1.Stock", {
  /** Returns how much of an article there is. */
  getLevel: rpc({ input: GetLevelRequest, output: Level, readOnly: true }),
  /** Sends the level of an article, and each change. */
  watchLevel: rpc({ input: GetLevelRequest, output: stream(Level) }),
  /** Adds deliveries. */
  deliver: rpc({ input: stream(Delivery), output: Delivered }),
  /** Reserves articles, one after the other. */
  reserve: rpc({ input: stream(Delivery), output: stream(Reservation) }),
});
