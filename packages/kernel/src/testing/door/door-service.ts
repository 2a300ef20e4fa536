import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { createPool, type Pool } from '../../database/db.ts';
import { isTemporary } from '../../http/command.ts';
import { buildHttp } from '../../http/http.ts';
import { InvalidRequest, Refusal, type RenderedError, UnstorableText } from '../../http/refusal.ts';
import type { ServiceRuntime } from '../../http/runtime.ts';
import { endpointName } from '../../http/service.ts';
import { createListener, openPort } from '../../listener/listener.ts';
import { addDocs } from '../../openapi/docs-page.ts';
import { openApi } from '../../openapi/openapi.ts';
import { createLog } from '../../process/log.ts';
import { requestMetrics } from '../../process/metrics.ts';
import { observer } from '../../process/observer.ts';
import { createTestDatabase } from '../database/database.ts';
import { type Client, createClient, type Received, type Sent } from '../matrix/matrix-client.ts';
import { recordTruth } from '../truth/truth.ts';
import {
  type DoorCaller,
  type DoorContext,
  type DoorHooks,
  doorEndpoints,
  doorErrors,
} from './door-endpoints.ts';

export const doorMigrations = join(import.meta.dirname, 'door-migrations');
export const doorTenant = '00000000-0000-4000-8000-00000000000a';
export const otherTenant = '00000000-0000-4000-8000-00000000000b';
export const doorBodyBytesMax = 20_000;
const everything = 'doors.read,doors.write';

export interface DoorService {
  readonly url: string;
  readonly pool: Pool;
  readonly server: Server;
  readonly hooks: DoorHooks;
  /** Every line of the log so far. */
  readonly logLines: string[];
  readonly databaseUrl: string;
  readonly metrics: Registry;
  send(sent: Sent): Promise<Received>;
  /** Sends JSON as a caller with all permissions; `headers` are added. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Received>;
  makeDoor(label?: string): Promise<{ id: string; version: number }>;
  /** The kernel's part of a shutdown; the owner of the port completes requests in progress. */
  closeApp(): Promise<void>;
  close(): Promise<void>;
}

/** The credential of a caller: tenant, principal and permissions, as this service reads them. */
export function doorCredential(tenantId = doorTenant, principal = 'ada', permissions = everything) {
  return { authorization: `Bearer ${tenantId}/${principal}/${permissions}` };
}

/** Starts the example service of the kernel's tests, over HTTP on its own database. */
export async function startDoors(
  options: { statementTimeoutMs?: number; waitSeconds?: number } = {},
): Promise<DoorService> {
  recordTruth('doors', doorEndpoints);
  const database = await createTestDatabase(doorMigrations);
  const logLines: string[] = [];
  const log = createLog({
    name: 'doors',
    level: 'debug',
    destination: { write: (line) => void logLines.push(line) },
  });
  const pool = createPool({
    url: database.url,
    connectionsMax: 8,
    applicationName: 'doors',
    statementTimeoutMs: options.statementTimeoutMs ?? 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 10_000,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  const hooks: DoorHooks = { beforeOpen: async () => undefined };
  const metrics = new Registry();
  const runtime = doorRuntime(pool, hooks, options.waitSeconds ?? 2, log, metrics);
  const app = buildHttp(runtime, doorEndpoints);
  addDocs(app, { title: 'Doors', openapi: async () => describeDoors() });
  await app.ready();
  const server = createListener({ handler: app.routing });
  await openPort(server, '127.0.0.1', 0);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client: Client = createClient(url);
  const call: DoorService['call'] = (method, path, body, headers) =>
    client.send({
      method,
      path,
      headers: { ...doorCredential(), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  let isClosed = false;
  const closeApp = async () => {
    if (isClosed) return;
    isClosed = true;
    await app.close();
    await pool.close();
  };
  return {
    url,
    pool,
    server,
    hooks,
    logLines,
    metrics,
    databaseUrl: database.url,
    send: client.send,
    call,
    async makeDoor(label = 'front') {
      const { body } = await call('POST', '/api/doors', { label });
      return (body as { door: { id: string; version: number } }).door;
    },
    closeApp,
    async close() {
      client.close();
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await closeApp();
      await database.drop();
    },
  };
}

function doorRuntime(
  pool: Pool,
  hooks: DoorHooks,
  waitSeconds: number,
  log: ReturnType<typeof createLog>,
  registry: Registry,
): ServiceRuntime<DoorCaller, DoorContext> {
  return {
    name: 'doors',
    basePath: '/api',
    pool,
    log,
    metrics: requestMetrics(registry),
    idempotency: { storedSeconds: 3600, waitSeconds },
    pipelineCodes: new Set(pipelineCodes),
    bodyBytesMax: () => doorBodyBytesMax,
    sizeBeforeCredential: ({ method }) => method !== 'PATCH',
    async authenticate({ headers }, { auth }) {
      if (auth === 'none') return { tenantId: '', principalId: '', permissions: new Set() };
      const [, tenantId, principalId, permissions] =
        /^Bearer ([0-9a-f-]{36})\/(\w+)\/([\w.,]*)$/.exec(headers.authorization ?? '') ?? [];
      if (tenantId === undefined || principalId === undefined)
        throw new Refusal('invalid_credentials', {}, { reason: 'malformed' });
      return { tenantId, principalId, permissions: new Set(permissions?.split(',')) };
    },
    tenantOf: ({ tenantId }) => tenantId,
    authorize({ permissions }, { permission }) {
      if (permission.length > 0 && !permission.some((name) => permissions.has(name)))
        throw new Refusal('permission_denied', { required: permission });
    },
    keyOwner: ({ tenantId, principalId }) => ({ tenantId, principalId }),
    context: (call, db) => ({ db, caller: call.caller, hooks, emitted: [] }),
    async beforeCommit({ emitted }) {
      for (const type of emitted) observer()?.emitted('doors', 'POST /doors/{id}:open', type);
    },
    render: renderDoorError,
  };
}

const pipelineCodes: (keyof typeof doorErrors)[] = [
  'invalid_request',
  'invalid_if_match',
  'invalid_credentials',
  'permission_denied',
  'not_found',
  'method_not_allowed',
  'idempotency_key_reused',
  'idempotency_in_flight',
  'request_too_large',
  'validation_error',
  'idempotency_key_required',
  'invalid_idempotency_key',
  'invalid_limit',
  'if_match_required',
  'internal_error',
  'unavailable',
];

function renderDoorError(error: unknown, requestId: string): RenderedError {
  const render = (code: keyof typeof doorErrors, details: object, headers = {}) => ({
    status: doorErrors[code].status,
    body: { code, details, requestId },
    headers,
  });
  if (error instanceof Refusal)
    return render(error.code as keyof typeof doorErrors, error.details, error.headers);
  if (error instanceof InvalidRequest) return render('invalid_request', { errors: error.problems });
  if (error instanceof UnstorableText)
    return render('validation_error', { path: error.path, code: error.code });
  return render(isTemporary(error) ? 'unavailable' : 'internal_error', {});
}

export function describeDoors(): object {
  return openApi(
    {
      title: 'Doors',
      version: '1',
      description: 'For the tests of the kernel.',
      basePath: '/api',
      errors: doorErrors,
      error: z
        .strictObject({ code: z.string(), details: z.unknown(), requestId: z.string() })
        .meta({ id: 'Error' }),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      securityOf: ({ auth }) => (auth === undefined ? ['token'] : []),
      pipelineCodesOf: (endpoint) => (endpointName(endpoint) === 'GET /status' ? [] : pipelineCodes),
    },
    [{ tag: 'Doors', about: 'Doors to open and close.', endpoints: doorEndpoints }],
  );
}
