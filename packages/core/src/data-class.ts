/** `finance` covers `finance` and `finance.entries`, never `financeX` (docs/reference/conventions.md#data-classes). */
export const covers = (parent: string, child: string): boolean =>
  child === parent || (child.length > parent.length && child.startsWith(parent) && child[parent.length] === ".");

export const isWithin = (child: string, parents: readonly string[]): boolean =>
  parents.some((parent) => covers(parent, child));

/** A request's or token's data classes: one, or for an agent several separated by spaces. */
export const splitDataClasses = (list: string): readonly string[] => (list.includes(" ") ? list.split(" ") : [list]);

/** A tool takes one class. As text a list would be within its first class, and the others would pass with it. */
export const isToolClass = (dataClass: string, declared: readonly string[]): boolean =>
  !dataClass.includes(" ") && isWithin(dataClass, declared);
