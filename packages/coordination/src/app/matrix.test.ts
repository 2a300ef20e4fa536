import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { endpointName, type Operation } from '@baton/kernel/service';
import { matrixTests } from '@baton/kernel/testing/matrix';
import type { MatrixCaller, MatrixService, Prepared } from '@baton/kernel/testing/matrix-bench';
import { digestStore } from '@baton/kernel/testing/store-digest';
import pg from 'pg';
import { endpoints } from './endpoints.ts';
import { type Actor, bootstrapToken, startCoordination } from '../testing/coordination.ts';
import { claimTask, done, endClaimLease, makeWorker, openSession } from '../testing/leases.ts';

/** Every endpoint of coordination against the general rules of its contract (core, section 1). */
matrixTests({
  service: 'coordination',
  basePath: '/api/v1',
  endpoints,
  rulesOf: () => ({
    unauthenticated: { status: 401, code: 'invalid_credentials' },
    denied: { status: 403, code: 'permission_denied' },
    scopeless: { status: 403, code: 'scope_not_granted' },
    invalid: { status: 400, code: 'invalid_request' },
    unstorable: { status: 422, code: 'validation_error' },
    tooLarge: { status: 413, code: 'request_too_large' },
    wrongMethod: { status: 405, code: 'method_not_allowed' },
    keyRequired: { status: 422, code: 'idempotency_key_required' },
    keyTooLong: { status: 422, code: 'invalid_idempotency_key' },
    keyReused: { status: 409, code: 'idempotency_key_reused' },
    ifMatchRequired: { status: 428, code: 'if_match_required' },
    ifMatchInvalid: { status: 400, code: 'invalid_if_match' },
  }),
  codeOf(body) {
    const { error, ...rest } = (body ?? {}) as { error?: Record<string, unknown> };
    const keys = Object.keys(error ?? {}).join();
    return keys === 'code,message,details,requestId' && Object.keys(rest).length === 0
      ? String(error?.['code'])
      : undefined;
  },
  keyRequired: ({ idempotency }) => idempotency === 'required',
  bodyBytesMax: () => 1_048_576,
  sizeBeforeCredential: () => true,
  start,
});

type World = Awaited<ReturnType<typeof makeWorld>>;

async function start(): Promise<MatrixService> {
  const world = await makeWorld();
  const { baton, allowed } = world;
  const store = new pg.Pool({ connectionString: baton.databaseUrl });
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const narrowed = (...scope: string[]) =>
    baton.issuer.sign({ sub: allowed.iamPrincipalId, tenant_id: baton.tenantId, scope });
  const [readOnly, writeOnly, scopeless] = [
    await narrowed('control-plane:read'),
    await narrowed('control-plane:write'),
    await narrowed('another-service:read'),
  ];
  const second = await baton.actor();
  const powerless = await baton.actor({ permissions: [] });
  const theirs = await makeObjects(
    baton.otherAdmin,
    await openSession(baton.otherAdmin),
    baton.issuer.issuer,
  );

  function headersOf({ auth, permission }: Operation, caller: MatrixCaller) {
    if (auth === 'none') return undefined;
    if (caller === 'anonymous') return {};
    if (auth === 'bootstrap') return caller === 'allowed' ? bearer(bootstrapToken) : undefined;
    const isRead = permission.some((name) => name.endsWith('.read'));
    switch (caller) {
      case 'allowed':
        return bearer(allowed.token);
      case 'second':
        return bearer(second.token);
      case 'powerless':
        return bearer(powerless.token);
      case 'narrow':
        return bearer(isRead ? writeOnly : readOnly);
      default:
        return bearer(scopeless);
    }
  }

  return {
    url: baton.url,
    headersOf,
    prepare: (endpoint) => prepare(world, endpoint),
    foreign: async ({ path }, name) => theirs[nounOf(path, name)],
    // Written by the credential check, whenever its cache has run out.
    state: () => digestStore(store, ['idempotency_keys', 'iam_bindings.last_used_at']),
    async close() {
      await store.end();
      await baton.close();
    },
  };
}

async function makeWorld() {
  const baton = await startCoordination();
  const { actor: allowed, sessionId } = await makeWorker(baton);
  return { baton, allowed, sessionId };
}

/** `/claims/{id}:renew` is about `claims`. */
function nounOf(path: string, param: string): string {
  return /([\w-]+)\/$/.exec(path.slice(0, path.indexOf(`{${param}}`)))?.[1] ?? '';
}

/** One of everything, by the noun of its path, in the tenant of the one who makes it. */
async function makeObjects(actor: Actor, sessionId: string, issuer: string): Promise<Record<string, string>> {
  const principals = (await done(actor.post('/principals', { kind: 'agent', displayName: 'A' }), 201)).id;
  const humans = (await done(actor.post('/principals', { kind: 'human', displayName: 'H' }), 201)).id;
  const apiKeys = await done(
    actor.post(`/principals/${principals}/api-keys`, { permissions: ['tasks.read'] }),
    201,
  );
  const binding = {
    issuer,
    iamTenantId: randomUUID(),
    iamPrincipalId: randomUUID(),
    permissions: ['tasks.read'],
  };
  const delegation = { humanPrincipalId: humans, agentPrincipalId: principals, permissions: ['tasks.read'] };
  const tasks = (await done(actor.post('/tasks', { title: 'wanted' }), 201)).id;
  const relation = {
    toTask: (await done(actor.post('/tasks', { title: 'next' }), 201)).id,
    type: 'related_to',
  };
  const claim = await claimTask({ actor, sessionId }, tasks);
  const run = { claimId: claim.id, fencingToken: claim.fencingToken };
  return {
    principals,
    tasks,
    sessions: sessionId,
    claims: claim.id,
    runs: (await done(actor.post(`/tasks/${tasks}:start-run`, run), 201)).id,
    'api-keys': apiKeys.id,
    'iam-bindings': (await done(actor.post(`/principals/${principals}/iam-bindings`, binding), 201)).id,
    relations: (await done(actor.post(`/tasks/${tasks}/relations`, relation), 201)).id,
    'task-types': (await done(actor.get('/task-types'))).items[0].id,
    delegations: (await done(actor.post('/delegations', delegation), 201)).id,
  };
}

/** Makes what the endpoint wants, and the request that it accepts. */
async function prepare(world: World, endpoint: Operation): Promise<Prepared | undefined> {
  const { baton, allowed } = world;
  const name = endpointName(endpoint);
  // It succeeds once in the life of an installation: its own test has that.
  if (name === 'POST /bootstrap') return undefined;
  const objects = await makeObjects(allowed, await openSession(allowed), baton.issuer.issuer);
  const params = Object.fromEntries(
    Object.keys(endpoint.params).map((param) => [param, objects[nounOf(endpoint.path, param)] ?? '']),
  );
  const changes = await wanted(world, name, params, objects);
  const body =
    endpoint.example === undefined ? {} : { body: { ...(endpoint.example as object), ...changes } };
  const headers = endpoint.ifMatch === undefined ? {} : await ifMatchOf(allowed, endpoint, params);
  const query = name === 'GET /harness/context' ? { query: `?sessionId=${objects['sessions']}` } : {};
  return { params, headers, ...body, ...query };
}

async function ifMatchOf(allowed: Actor, { path }: Operation, params: Record<string, string>) {
  const object = path
    .replace(/:[\w-]+$/, '')
    .replaceAll(/\{(\w+)\}/g, (_, param: string) => params[param] ?? '');
  const { headers } = await allowed.get(object);
  const etag = headers.get('etag');
  assert.ok(etag !== null, `${object} has no ETag`);
  return { 'if-match': etag };
}

/** What the example of a body must have instead of its ids, and what must have happened before. */
async function wanted(
  { baton, allowed, sessionId }: World,
  name: string,
  params: Record<string, string>,
  objects: Record<string, string>,
): Promise<object> {
  const newTask = async () => (await done(allowed.post('/tasks', { title: 'wanted' }), 201)).id as string;
  switch (name) {
    case 'POST /principals/{id}/iam-bindings':
      return { issuer: baton.issuer.issuer, iamTenantId: baton.tenantId, iamPrincipalId: randomUUID() };
    case 'POST /principals/{id}:enable':
      await done(allowed.post(`/principals/${params['id']}:disable`, { reason: 'x' }));
      return {};
    case 'POST /delegations': {
      const human = await done(allowed.post('/principals', { kind: 'human', displayName: 'H' }), 201);
      return { humanPrincipalId: human.id, agentPrincipalId: objects['principals'] };
    }
    case 'POST /tasks/{ref}/relations':
      return { toTask: await newTask() };
    case 'POST /tasks/{ref}:claim':
      params['ref'] = await newTask();
      return { sessionId };
    case 'PATCH /tasks/{ref}':
    case 'POST /tasks/{ref}:complete':
      params['ref'] = await newTask();
      return {};
    case 'POST /tasks/{ref}:start-run': {
      params['ref'] = await newTask();
      const claim = await claimTask({ actor: allowed, sessionId }, params['ref']);
      return { claimId: claim.id, fencingToken: claim.fencingToken };
    }
    case 'POST /claims/{id}:reclaim': {
      const task = await newTask();
      params['id'] = (await claimTask({ actor: allowed, sessionId }, task)).id;
      await endClaimLease(baton, task);
      return { sessionId };
    }
    case 'POST /claims/{id}:release': {
      params['id'] = (await claimTask({ actor: allowed, sessionId }, await newTask())).id;
      return {};
    }
    default:
      return {};
  }
}
