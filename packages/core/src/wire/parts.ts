import { z } from "zod";
import { sentence } from "../names.ts";

/** Parts that bodies of several planes share. */

export const jwt = z.string().min(1).max(16_384);

/** An answer's time: ISO 8601, UTC. */
export const timestamp = z.iso.datetime();

/** A body that says why, or nothing. The record keeps it. */
export const reasonRequest = z.strictObject({ reason: sentence.optional() });
