import type { Json } from '../wire.ts';

/**
 * The cost limit of one evaluation, in steps of about 0.1 µs: 25 ms on a quiet machine. 5,000 values with ten keywords
 * each take 100,000.
 */
export const stepsMax = 250_000;
/** The maximum depth of nested schemas, references included. */
const depthMax = 400;
/** The maximum number of reported faults. */
export const faultsMax = 20;
const pathLengthMax = 200;

/** A fault in an instance: its location and a message that doesn't contain the sent value. */
export interface SchemaFault {
  path: string;
  message: string;
}

/** One keyword applied to one value. The check itself reports its faults, unless the evaluation is muted. */
export type Check = (value: Json, at: Place | undefined, run: Evaluation, seen: Seen | undefined) => boolean;

/** A part of a document with an `$id`, to which references inside the part are relative. */
export interface Resource {
  readonly pointer: string;
  readonly anchors: Map<string, Subschema>;
  readonly dynamicAnchors: Map<string, Subschema>;
}

export interface Subschema {
  readonly pointer: string;
  readonly resource: Resource;
  /** In evaluation order. */
  checks: readonly Check[];
  /** Whether the schema has a keyword that applies to the members that no other keyword has evaluated. */
  tracks: boolean;
}

/** The location of a value in the instance; undefined for the instance itself. */
export interface Place {
  readonly parent: Place | undefined;
  readonly key: string | number;
}

/** The evaluated members: names of an object, indexes of a list. */
export interface Seen {
  readonly names: Set<string>;
  readonly items: Set<number>;
}

export function newSeen(): Seen {
  return { names: new Set(), items: new Set() };
}

/** The evaluation exceeded its limit of steps or depth. */
export class TooCostly extends Error {}

/** One evaluation of one instance, with its budget, its faults, and the resources on its path. */
export class Evaluation {
  readonly faults: SchemaFault[] = [];
  readonly scope: Resource[] = [];
  #stepsLeft = stepsMax;
  #depth = 0;
  #muted = 0;

  /** @throws TooCostly */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooCostly();
  }

  /** The number of steps so far. */
  get spent(): number {
    return stepsMax - this.#stepsLeft;
  }

  /** Whether the remaining keywords of a schema that has failed can be skipped. */
  get isDecided(): boolean {
    return this.#muted > 0 || this.faults.length >= faultsMax;
  }

  /** Records a fault. @returns false */
  fault(at: Place | undefined, message: string): false {
    if (!this.isDecided) this.faults.push({ path: pathOf(at), message });
    return false;
  }

  /** Evaluates without reporting faults, for schemas that need not match. */
  quietly(subschema: Subschema, value: Json, at: Place | undefined, seen: Seen | undefined): boolean {
    this.#muted += 1;
    const fits = this.fits(subschema, value, at, seen);
    this.#muted -= 1;
    return fits;
  }

  /**
   * Whether a value matches a schema.
   * @param seen receives the members that the schema has evaluated, if the value matches
   */
  fits(subschema: Subschema, value: Json, at: Place | undefined, seen: Seen | undefined): boolean {
    const { resource, checks, tracks } = subschema;
    this.spend(3 + checks.length);
    this.#depth += 1;
    if (this.#depth > depthMax) throw new TooCostly();
    const isEntered = this.scope.at(-1) !== resource;
    if (isEntered) this.scope.push(resource);
    const own = tracks || seen !== undefined ? newSeen() : undefined;
    let fits = true;
    for (const check of checks) {
      if (check(value, at, this, own)) continue;
      fits = false;
      if (this.isDecided) break;
    }
    if (fits && seen !== undefined && own !== undefined) this.#pass(own, seen);
    if (isEntered) this.scope.pop();
    this.#depth -= 1;
    return fits;
  }

  #pass(own: Seen, seen: Seen): void {
    this.spend(3 * (own.names.size + own.items.size));
    for (const name of own.names) seen.names.add(name);
    for (const index of own.items) seen.items.add(index);
  }
}

function pathOf(at: Place | undefined): string {
  const keys: string[] = [];
  for (let place = at; place !== undefined; place = place.parent) keys.push(pointerKey(place.key));
  return keys.reverse().join('').slice(0, pathLengthMax).toWellFormed();
}

/** A key as a segment of a JSON pointer, with the slash before it. */
export function pointerKey(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
