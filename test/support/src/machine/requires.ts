import { describe, type SuiteAPI, type TestAPI, test } from "vitest";
import { asRoot } from "./debian-packages.ts";
import { isThere } from "./locate.ts";
import { type PartName, parts, skipSuffix } from "./parts.ts";

/**
 * `describe` and `test` for tests that need parts of the machine. Where one is missing the tests are skipped, with its
 * name in theirs. In CI they run and fail, if the part could have been installed.
 */
export function requires(...names: readonly [PartName, ...PartName[]]): Required {
  const missing = names.filter((name) => !isThere(name) && !failsWithout(name));
  if (missing.length === 0) return { describe, test, start: (begin) => begin() };
  const suffix = skipSuffix(missing);
  return {
    describe: suffixed(describe.skip, suffix) as SuiteAPI,
    test: suffixed(test.skip, suffix) as TestAPI,
    start: async () => standIn(),
  };
}

interface Required {
  readonly describe: SuiteAPI;
  readonly test: TestAPI;
  /**
   * Runs a setup during collection. Where the tests are skipped it does not run, and returns a value whose members,
   * results and elements are such values again.
   */
  readonly start: <T extends object>(begin: () => Promise<T>) => Promise<T>;
}

function standIn<T extends object>(): T {
  const value: T = new Proxy((() => value) as unknown as T, {
    get: (_target, key) => {
      // `await` must not treat it as a promise.
      if (key === "then") return undefined;
      if (key === Symbol.toPrimitive) return () => "";
      return key === Symbol.iterator ? () => [].values() : value;
    },
    apply: () => value,
  });
  return value;
}

const failsWithout = (name: PartName): boolean =>
  Boolean(process.env.CI) && parts[name].package !== undefined && asRoot() !== undefined;

type Callable = (...args: unknown[]) => unknown;

/** These take a table or a condition, and return the function that takes the name. */
const curried = new Set<PropertyKey>(["each", "for", "skipIf", "runIf"]);

/** The same vitest function, which appends to the name of everything it defines. */
function suffixed(define: object, suffix: string): unknown {
  return new Proxy(define as Callable, {
    apply: (target, self, [name, ...rest]) => Reflect.apply(target, self, [`${name}${suffix}`, ...rest]),
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      if (!curried.has(key)) return suffixed(value, suffix);
      return (...args: unknown[]) => suffixed(Reflect.apply(value, target, args) as object, suffix);
    },
  });
}
