/** Neither an agent nor its enforcement point holds the bearers of those who govern them. */
export const withoutBearers = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^SVC_(ADMIN|AUDIT|IDENTITY)_TOKEN/.test(name)));
