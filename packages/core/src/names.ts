import { z } from "zod";
import { agentPattern, refPattern } from "./name-patterns.ts";

/** Text for people and for databases: 1-255 code points, well-formed Unicode, no control characters. */
const plainText = z
  .string()
  .min(1)
  .max(510)
  .refine((text) => [...text].length <= 255, "must have at most 255 characters")
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .refine((text) => !/\p{Cc}/u.test(text), "must not contain control characters")
  // JSON Schema counts code points, zod UTF-16 units.
  .meta({ maxLength: 255 });

export const scopeName = plainText;
export const userSub = plainText;

/** A reason given by a person. Line breaks are allowed; other control characters are not text. */
export const sentence = z
  .string()
  .min(1)
  .max(1000)
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .refine((text) => !/[^\P{Cc}\n\t]/u.test(text), "must not contain control characters");

/** Text in which JSON's escapes replace direction marks, which would turn the text after them round. */
export const withoutDirection = (text: string): string =>
  text.replace(/\p{Bidi_Control}/gu, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** A name as JSON, for a sentence. */
export const quoted = (name: string): string => withoutDirection(JSON.stringify(name));

export const agentName = z.string().regex(agentPattern, "must be an agent name: lower case letters, digits, . _ -");
export const toolRef = z.string().regex(refPattern, "must be 1-255 of A-Z a-z 0-9 . _ : / @ # -");
export const dataClass = toolRef.refine(
  (name) => !name.split(".").includes(""),
  "must be a dotted name without empty segments",
);

/** Data classes as in a request and in a token's `scope`: one, or for an agent several, space-separated. */
export const dataClassList = z
  .string()
  .max(4096)
  .refine((text) => {
    const names = text.split(" ");
    return names.every((name) => dataClass.safeParse(name).success) && new Set(names).size === names.length;
  }, "must be data classes separated by single spaces, without repeats");
