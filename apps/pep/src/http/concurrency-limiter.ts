/** A number of places; who finds none is turned away at once, not queued. */
export interface Gate {
  /** How to leave, once; undefined where there is no place. */
  enter(): (() => void) | undefined;
  readonly inside: number;
}

export function createGate(places: number): Gate {
  let inside = 0;
  return {
    enter() {
      if (inside >= places) return undefined;
      inside += 1;
      let isInside = true;
      return () => {
        if (isInside) inside -= 1;
        isInside = false;
      };
    },
    get inside() {
      return inside;
    },
  };
}
