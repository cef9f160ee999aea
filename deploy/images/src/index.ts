export { type ContentFile, contentOf } from "./content.ts";
export { buildTree, type Program, programs } from "./tree.ts";
