/** An agent and its enforcement point get no bearers of the control plane's planes. */
export const withoutBearers = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^SVC_(ADMIN|AUDIT|IDENTITY)_TOKEN/.test(name)));
