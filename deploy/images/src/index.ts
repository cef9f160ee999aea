export { type ContentFile, contentOf } from "./content.ts";
export { type Program, programs } from "./programs.ts";
export { buildTree } from "./tree.ts";
