import { createHash } from 'node:crypto';

type Document = Record<string, unknown>;
export interface KnownThings {
  readonly entities?: readonly Document[];
  readonly facts?: readonly Document[];
}
export interface MemoryAnswer {
  readonly status: number;
  readonly body: object;
}

interface Space {
  /** By kind and key. */
  readonly entities: Map<string, Document>;
  readonly facts: Document[];
  /** The response to each snapshot. */
  readonly snapshots: Map<string, Document>;
  readonly observedAt: Map<string, string>;
  readonly documents: Map<string, Document>;
  kinds: Document | undefined;
}

const answer = (status: number, body: object = {}): MemoryAnswer => ({ status, body });
const keyOf = ({ kind, key }: Document) => `${String(kind)} ${String(key)}`;

/**
 * The state of the reference memory service apart from events: entities and facts, the snapshots that it reconciles,
 * packs, kinds, documents. See docs/reference/memory.md#memory-service.
 */
export class MemoryKnowledge {
  readonly #spaces = new Map<string, Space>();
  /** By namespace, name and version. */
  readonly #packs = new Map<string, Document>();

  know(namespace: string, { entities = [], facts = [] }: KnownThings): void {
    const space = this.#space(namespace);
    for (const entity of entities) space.entities.set(keyOf(entity), entity);
    space.facts.push(...facts);
  }

  forget(namespace: string): void {
    this.#spaces.delete(namespace);
  }

  documents(namespace: string): Document[] {
    return [...this.#space(namespace).documents.values()];
  }

  entities(namespace: string): Document[] {
    return [...this.#space(namespace).entities.values()];
  }

  /** Undefined for an unknown path. */
  handle(method: string, path: string, query: URLSearchParams, body: Document): MemoryAnswer | undefined {
    const kinds = /^\/api\/memory\/namespaces\/([^/]+)\/kinds$/.exec(path)?.[1];
    if (kinds !== undefined) return this.#kinds(method, decodeURIComponent(kinds), body);
    const pack = /^\/api\/memory\/packages\/([^/]+)$/.exec(path)?.[1];
    if (pack !== undefined) return this.#findPack(decodeURIComponent(pack), query.get('namespace') ?? '');
    if (method !== 'POST') return undefined;
    switch (path) {
      case '/api/memory/context':
        return this.#context(body);
      case '/api/memory/context/typed':
        return this.#typed(body);
      case '/api/memory/reconcile':
        return this.#reconcile(body);
      case '/api/memory/entities:query':
        return this.#query(body);
      case '/api/memory/packages':
        return this.#register(body);
      case '/api/brain/documents':
        return this.#store(body);
      default:
        return undefined;
    }
  }

  #context({ query, scope, max_tokens: budget }: Document): MemoryAnswer {
    const known = this.#known(scope).flatMap(({ entities }) => [...entities.values()]);
    const sections = known.map((entity) => ({ title: entity['key'], text: JSON.stringify(entity) }));
    const token_estimate = JSON.stringify(sections).length / 4;
    const trace_id = `trace-${createHash('sha256').update(JSON.stringify(scope)).digest('hex').slice(0, 12)}`;
    const more = { token_estimate, budget, conflicts: [], stats: {} };
    return answer(200, { query, sections, sources: [], ...more, trace_id });
  }

  #typed({ anchors, kinds, query, scope }: Document): MemoryAnswer {
    const spaces = this.#known(scope);
    const [wanted, ofKinds] = [anchors as string[], kinds as string[]];
    const isWanted = ({ kind, key }: Document) =>
      (query !== undefined || wanted.length === 0 || wanted.includes(String(key))) &&
      (ofKinds.length === 0 || ofKinds.includes(String(kind)));
    const entities = spaces.flatMap((space) => [...space.entities.values()].filter(isWanted));
    const keys = new Set(entities.map(({ key }) => key));
    const facts = spaces.flatMap((space) => space.facts.filter(({ subject }) => keys.has(subject)));
    return answer(200, { entities, facts, snapshots: [], trace_id: 'trace-typed' });
  }

  #reconcile(body: Document): MemoryAnswer {
    const { namespace, snapshotId, source, pack, observedAt, entities, dryRun, expectedState } = body;
    const space = this.#space(String(namespace));
    const seen = space.snapshots.get(String(snapshotId));
    if (seen !== undefined) return answer(200, { ...seen, duplicate: true, dryRun: dryRun === true });
    const sent = entities as Document[];
    if (sent.some(({ kind, key }) => typeof kind !== 'string' || typeof key !== 'string')) return answer(400);
    const origin = `${String(pack)} ${String(source)}`;
    const isStale = (space.observedAt.get(origin) ?? '') > String(observedAt);
    if (isStale || (expectedState !== undefined && expectedState !== this.#stateOf(space)))
      return answer(409);
    const ofSource = sent.map((entity): Document => ({ ...entity, source: origin }));
    const before = new Map([...space.entities].filter(([, { source: from }]) => from === origin));
    const after = new Map(ofSource.map((entity) => [keyOf(entity), entity]));
    const changes = changesBetween(before, after);
    if (dryRun !== true) {
      for (const key of before.keys()) space.entities.delete(key);
      for (const [key, entity] of after) space.entities.set(key, entity);
      space.observedAt.set(origin, String(observedAt));
    }
    const counters = Object.fromEntries(Object.entries(changes).map(([name, list]) => [name, list.length]));
    const told = {
      duplicate: false,
      dryRun: dryRun === true,
      stateToken: this.#stateOf(space),
      changes,
      counters,
    };
    if (dryRun !== true) space.snapshots.set(String(snapshotId), told);
    return answer(200, told);
  }

  #query({ kinds, where, limit, cursor, scope, include }: Document): MemoryAnswer {
    const conditions = where as { attr: string; op: string; value: unknown }[];
    const fits = (entity: Document) =>
      (kinds as unknown[]).includes(entity['kind']) &&
      conditions.every(({ attr, op, value }) => holds(entity[attr], op, value));
    const found = this.#known(scope).flatMap((space) => [...space.entities.values()].filter(fits));
    if (cursor !== undefined && !/^\d+$/.test(String(cursor))) return answer(400);
    const [from, count] = [Number(cursor ?? 0), Number(limit)];
    const items = found
      .slice(from, from + count)
      .map((entity) =>
        include === undefined ? entity : { ...entity, relations: this.#relationsOf(scope, entity) },
      );
    const next_cursor = from + count < found.length ? String(from + count) : null;
    return answer(200, { items, next_cursor });
  }

  #relationsOf(scope: unknown, { key }: Document): Document[] {
    return this.#known(scope).flatMap(({ facts }) => facts.filter(({ subject }) => subject === key));
  }

  #register(body: Document): MemoryAnswer {
    const { namespace = '', name, version, kinds } = body;
    if (typeof kinds !== 'object' || kinds === null) return answer(400);
    const ref = `${String(namespace)} ${String(name)}@${String(version)}`;
    const stands = this.#packs.get(ref);
    if (stands !== undefined && JSON.stringify(stands) !== JSON.stringify(body)) return answer(409);
    this.#packs.set(ref, body);
    return answer(stands === undefined ? 201 : 200, { name, version, status: 'active' });
  }

  #findPack(ref: string, namespace: string): MemoryAnswer {
    const names = [...this.#packs].filter(([key]) => [namespace, ''].includes(key.split(' ')[0] as string));
    const found = names.findLast(([key]) => {
      const [, pack = ''] = key.split(' ');
      return ref.includes('@') ? pack === ref : pack.startsWith(`${ref}@`);
    });
    return found === undefined ? answer(404) : answer(200, { ...found[1], status: 'active' });
  }

  #kinds(method: string, namespace: string, body: Document): MemoryAnswer {
    const space = this.#space(namespace);
    if (method === 'GET') return answer(200, space.kinds ?? { packages: [], strict: false });
    const tenant = namespace.split(':ws:')[0] as string;
    const packages = body['packages'] as string[];
    if (packages.some((ref) => this.#findPack(ref, tenant).status === 404)) return answer(404);
    space.kinds = body;
    return answer(200, body);
  }

  #store(body: Document): MemoryAnswer {
    const { namespace, naturalKey } = body;
    if (String(naturalKey).trim() === '') return answer(400);
    this.#space(String(namespace)).documents.set(String(naturalKey), body);
    return answer(201, { id: `doc-${String(naturalKey)}` });
  }

  #stateOf({ entities }: Space): string {
    return createHash('sha256')
      .update(JSON.stringify([...entities.values()]))
      .digest('hex');
  }

  #known(scope: unknown): Space[] {
    const { namespace, namespaces = [namespace] } = scope as { namespace: string; namespaces?: string[] };
    return namespaces.map((name) => this.#space(name));
  }

  #space(namespace: string): Space {
    const empty = { facts: [], snapshots: new Map(), observedAt: new Map(), documents: new Map() };
    const space = this.#spaces.get(namespace) ?? { entities: new Map(), ...empty, kinds: undefined };
    this.#spaces.set(namespace, space);
    return space;
  }
}

function changesBetween(before: ReadonlyMap<string, Document>, after: ReadonlyMap<string, Document>) {
  const brief = ({ kind, key }: Document) => ({ kind, key });
  return {
    opened: [...after].filter(([key]) => !before.has(key)).map(([, entity]) => brief(entity)),
    changed: [...after]
      .filter(
        ([key, entity]) => before.has(key) && JSON.stringify(before.get(key)) !== JSON.stringify(entity),
      )
      .map(([, entity]) => brief(entity)),
    closed: [...before].filter(([key]) => !after.has(key)).map(([, entity]) => brief(entity)),
  };
}

function holds(actual: unknown, op: string, value: unknown): boolean {
  switch (op) {
    case 'eq':
      return actual === value;
    case 'in':
      return (value as unknown[]).includes(actual);
    case 'prefix':
      return String(actual).startsWith(String(value));
    case 'lte':
      return (actual as number) <= (value as number);
    case 'gte':
      return (actual as number) >= (value as number);
    default:
      return (actual !== undefined) === (value !== false);
  }
}
