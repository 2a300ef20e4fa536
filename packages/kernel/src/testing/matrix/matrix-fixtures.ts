import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endpointName, type Operation } from '../../http/service.ts';
import type { SampleRequest } from './matrix-service.ts';

/**
 * One kind of object that requests need. An object is created when a request first needs it, and used by that request
 * only.
 */
export interface ObjectFixture<Tenant extends object, Made extends object = object> {
  /**
   * The path of the object, up to its parameter: `/claims/{id}`. A parameter with this path gets the object's field
   * with the parameter's name, otherwise its `id`. Absent for objects that only other fixtures need.
   */
  readonly path?: string;
  /** No tenant owns it: every permitted caller may refer to it. */
  readonly shared?: boolean;
  make(scope: FixtureScope<Tenant>): Made | Promise<Made>;
}

/** The context of fixtures: the tenant, and the other objects of the same request. */
export type FixtureScope<Tenant extends object> = Tenant & {
  /** The object of this request, created on the first call. */
  get<Made extends object>(object: ObjectFixture<Tenant, Made>): Promise<Made>;
};

/** Additions to a request, beyond objects for its parameters and the declared example as its body. */
export interface RequestParts {
  /** Replaces the objects that the path refers to. */
  readonly params?: Readonly<Record<string, string>>;
  /** With its question mark. */
  readonly query?: string;
  /** Fields that replace those of the example. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Creates an operation's request, or states why the matrix can't have an accepted one. */
export type OperationFixture<Tenant extends object> =
  | ((scope: FixtureScope<Tenant>) => RequestParts | Promise<RequestParts>)
  | { readonly excluded: string };

/** The declarations of one `*.fixtures.ts`. Most operations need no entry: objects are found by the path. */
export interface FeatureFixtures<Tenant extends object> {
  readonly objects?: readonly ObjectFixture<Tenant>[];
  /** By operation id. */
  readonly operations?: Readonly<Record<string, OperationFixture<Tenant>>>;
}

/**
 * The functions by which the features of one service declare their fixtures.
 *
 * ```ts
 * export const claim = defineObject({
 *   path: '/claims/{id}',
 *   make: async ({ actor, get }) => claimTask(actor, await get(session), await get(task)),
 * });
 *
 * export default defineFixtures({
 *   objects: [claim],
 *   operations: { claimTask: async ({ get }) => ({ body: { sessionId: (await get(session)).id } }) },
 * });
 * ```
 */
export function fixturesOf<Tenant extends object>() {
  return {
    defineObject: <Made extends object>(object: ObjectFixture<Tenant, Made>) => object,
    defineFixtures: (fixtures: FeatureFixtures<Tenant>) => fixtures,
  };
}

/** The fixtures of a whole service. */
export interface Fixtures<Tenant extends object> {
  readonly objects: ReadonlyMap<string, ObjectFixture<Tenant>>;
  readonly operations: ReadonlyMap<string, OperationFixture<Tenant>>;
  /** The file for the fixtures of an operation. */
  fileOf(endpoint: Operation): string;
}

/** The default exports of every `*.fixtures.ts` below a folder. @throws Error when two create the same object */
export async function collectFixtures<Tenant extends object>(folder: string): Promise<Fixtures<Tenant>> {
  const files = globSync('**/*.fixtures.ts', { cwd: folder }).sort();
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(join(folder, file)).href)));
  const features = modules.map((module, index) => {
    if (module.default === undefined) throw new Error(`${files[index]} has no default export`);
    return module.default as FeatureFixtures<Tenant>;
  });
  return joinFixtures(features, (endpoint) =>
    relative(process.cwd(), join(folder, fixturesFileOf(folder, endpoint))),
  );
}

/** The fixtures file next to the file that declares the operation. */
function fixturesFileOf(folder: string, { id }: Operation): string {
  const declares = new RegExp(`\\bid: '${id}'`);
  const file = globSync('**/*.api.ts', { cwd: folder }).find((api) =>
    declares.test(readFileSync(join(folder, api), 'utf8')),
  );
  return (file ?? `${id}.api.ts`).replace(/\.api\.ts$/, '.fixtures.ts');
}

export function joinFixtures<Tenant extends object>(
  features: readonly FeatureFixtures<Tenant>[],
  fileOf: (endpoint: Operation) => string,
): Fixtures<Tenant> {
  const objects = features.flatMap((feature) => feature.objects ?? []);
  return {
    objects: uniqueMap(
      objects.flatMap((object) => (object.path === undefined ? [] : [[object.path, object]])),
    ),
    operations: uniqueMap(features.flatMap((feature) => Object.entries(feature.operations ?? {}))),
    fileOf,
  };
}

function uniqueMap<Value>(entries: readonly (readonly [string, Value])[]): Map<string, Value> {
  const map = new Map(entries);
  const twice = entries.find(([key, value]) => map.get(key) !== value);
  if (twice !== undefined) throw new Error(`Two fixtures are declared for ${twice[0]}.`);
  return map;
}

/**
 * The missing fixtures, and those that no endpoint uses; one sentence each.
 * @param namedInside paths of objects that bodies and queries refer to
 */
export function findFixtureProblems<Tenant extends object>(
  { objects, operations, fileOf }: Fixtures<Tenant>,
  endpoints: readonly Operation[],
  namedInside: readonly (string | null)[] = [],
): string[] {
  const paths = new Set<string | null>(namedInside);
  for (const endpoint of endpoints) for (const { path } of paramsOf(endpoint)) paths.add(path);
  const ids = new Set(endpoints.map(({ id }) => id));
  const missing = endpoints.flatMap((endpoint) =>
    paramsOf(endpoint)
      .filter(({ path }) => !objects.has(path))
      .map(
        ({ name, path }) =>
          `${endpoint.id} (${endpointName(endpoint)}) has a parameter {${name}} that no fixture makes: ` +
          `write ${fileOf(endpoint)} with defineObject({ path: '${path}', make }) among its objects.`,
      ),
  );
  return [
    ...missing,
    ...[...objects.keys()]
      .filter((path) => !paths.has(path))
      .map((path) => `The fixture for ${path} belongs to no operation's path: delete it, or its path.`),
    ...[...operations.keys()]
      .filter((id) => !ids.has(id))
      .map((id) => `A fixture is declared for the operation ${id}, which does not exist.`),
  ];
}

/** Creates one object, with its dependencies, in the given tenant. */
export function makeFixture<Tenant extends object>(
  object: ObjectFixture<Tenant>,
  tenant: Tenant,
): Promise<object> {
  return scopeOf(tenant).get(object);
}

/** The scope of one request, in which each object is created once. */
function scopeOf<Tenant extends object>(tenant: Tenant): FixtureScope<Tenant> {
  const made = new Map<unknown, Promise<object>>();
  const scope: FixtureScope<Tenant> = {
    ...tenant,
    get<Made extends object>(object: ObjectFixture<Tenant, Made>): Promise<Made> {
      const found = made.get(object) ?? Promise.resolve(object.make(scope));
      made.set(object, found);
      return found as Promise<Made>;
    },
  };
  return scope;
}

/** A request with its own objects, all newly created in the given tenant. */
export async function makeFixtureRequest<Tenant extends object>(
  { objects, operations }: Fixtures<Tenant>,
  endpoint: Operation,
  tenant: Tenant,
): Promise<SampleRequest> {
  const scope = scopeOf(tenant);
  const operation = operations.get(endpoint.id);
  const parts = typeof operation === 'function' ? await operation(scope) : {};
  const params: Record<string, string> = { ...parts.params };
  for (const { name, path } of paramsOf(endpoint)) {
    if (name in params) continue;
    const object = objects.get(path);
    if (object === undefined) throw new Error(`${endpointName(endpoint)}: no fixture makes ${path}.`);
    const fields = (await scope.get(object)) as Readonly<Record<string, string>>;
    const value = fields[name] ?? fields['id'];
    if (typeof value !== 'string') throw new Error(`The object at ${path} has no ${name} and no id.`);
    params[name] = value;
  }
  const isBodiless = endpoint.example === undefined && parts.body === undefined;
  return {
    params,
    ...(parts.query === undefined ? {} : { query: parts.query }),
    ...(parts.headers === undefined ? {} : { headers: parts.headers }),
    ...(isBodiless
      ? {}
      : { body: endpoint.bytes ? endpoint.example : { ...(endpoint.example as object), ...parts.body } }),
  };
}

/** Whether the last parameter of the path refers to an object that no tenant owns. */
export function addressesShared<Tenant extends object>(
  { objects }: Fixtures<Tenant>,
  endpoint: Operation,
): string | undefined {
  const last = paramsOf(endpoint).at(-1);
  return last !== undefined && objects.get(last.path)?.shared ? last.name : undefined;
}

/** `/tasks/{ref}/relations/{id}` has `ref` with the path `/tasks/{ref}`, and `id` with the whole path. */
function paramsOf({ path }: Operation): { name: string; path: string }[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => ({
    name: match[1] as string,
    path: path.slice(0, match.index + match[0].length),
  }));
}
