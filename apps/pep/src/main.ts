import "./require-node.ts";
