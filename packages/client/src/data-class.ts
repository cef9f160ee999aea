/** The data class of a call, or what gives it by the call's parameters (docs/reference/client.md#data-class-by-params). */
export type DataClass = string | ((params: unknown) => string);

/** A function gets what the JSON text holds: the parameters as they are sent; undefined where there are none. */
export const dataClassOf = (given: DataClass, paramsJson: string | undefined): string =>
  typeof given === "string" ? given : given(paramsJson === undefined ? undefined : JSON.parse(paramsJson));
