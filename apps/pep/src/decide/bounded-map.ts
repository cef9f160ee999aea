/** A map that forgets what was set or read longest ago once it holds `capacity` entries. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#capacity) return;
      this.#entries.delete(oldest);
    }
  }

  values(): MapIterator<Value> {
    return this.#entries.values();
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Removes every entry whose value fits. */
  remove(fits: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (fits(value)) this.#entries.delete(key);
  }
}
