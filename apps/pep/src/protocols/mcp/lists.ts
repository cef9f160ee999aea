/** The members of a result that list what may be called, and the member that names an element. */
export const listMembers = {
  tools: "name",
  prompts: "name",
  resources: "uri",
  resourceTemplates: "uriTemplate",
} as const;
export type ListMember = keyof typeof listMembers;

export const isListMember = (name: string | undefined): name is ListMember =>
  name !== undefined && Object.hasOwn(listMembers, name);

const listMethods: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
]);

/** The same for lists of tools. */
export const mayListTools = (method: string | undefined, httpMethod: string | undefined): boolean =>
  httpMethod === "GET" || method === "tools/list";

/** Whether an answer may hold a list: of a request for one, or on a stream that may repeat earlier answers. */
export const mayList = (method: string | undefined, httpMethod: string | undefined): boolean =>
  httpMethod === "GET" || (method !== undefined && listMethods.has(method));
